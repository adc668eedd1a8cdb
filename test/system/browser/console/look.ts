import { makeFleet } from './fleet.ts'
import { openBrowser, openTab } from './browser.ts'
const t0=Date.now()
const fleet = await makeFleet()
console.log('fleet', Date.now()-t0)
const browser = await openBrowser()
const width = Number(process.argv[2] ?? 1280)
const { page, complaints } = await openTab(browser, { width, scheme: (process.argv[3] ?? 'light') as 'light' })
const base = `${fleet.served.url}/console`
const t1=Date.now()
await page.goto(`${base}#key=${fleet.keys.all}`)
await page.waitForSelector('h1:has-text("Overview")')
console.log('first', Date.now()-t1, page.url())
const { records: r } = fleet
for (const [name, hash] of [['overview','#/'],['day','#/day'],['search','#/search?type=approval%2F1'],['record',`#/record/${r.signed}`],['gated',`#/record/${r.accepted}`],['waiting',`#/record/${r.waiting}`],['run',`#/run/${r.run}`],['entry','#/entry/5'],['agents','#/agents'],['checkpoints','#/checkpoints'],['peers','#/peers'],['peer',`#/peers/${fleet.peer}`],['work','#/work'],['verify','#/verify']]) {
  await page.goto(`${base}/${hash}`)
  await page.waitForTimeout(1200)
  await page.screenshot({ path: `/tmp/shots/${name}-${width}.png`, fullPage: true })
}
console.log(complaints)
await browser.close()
await fleet.close()
