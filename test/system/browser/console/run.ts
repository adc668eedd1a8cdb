/*
 * npm run drill -- browser
 *
 * Shows the console of a real ledger in Chromium. It checks every page: accessibility, keyboard, narrow and dark
 * views, attacks, load, and a missing server. Writes docs/console/*.png.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { Tallystick } from '../../../../sdk/client.ts'
import { bundle as verifyBundle } from '../../../../sdk/verify/bundle.ts'
import { buildConsole } from '../../../../tools/build-console.ts'
import { ROOT } from '../../../../tools/bundle.ts'
import { temporaryDir } from '../../../helpers/postgres.ts'
import { until } from '../../../helpers/wait.ts'
import { openBrowser, openTab, type View } from './browser.ts'
import { type Fleet, makeFleet } from './fleet.ts'
import { HOSTILE, recordHostile } from './hostile.ts'
import { enter, pagesOf, show } from './pages.ts'
import { QUESTIONS } from './questions.ts'
import { withPalette } from './small-png.ts'

const SHOTS = join(ROOT, 'docs', 'console')
const SHOT_BYTES_MAX = 60_000
const FIRST_VIEW_MS_MAX = 1_000
const FIRST_VIEWS = 4
const LIVE_EVENTS = 10_000
const RUN_FIRST_ROWS_MS_MAX = 2_000
/** Time in ms after which a blocked page counts as frozen, because keys and clicks wait. */
const FROZEN_MS_MAX = 500
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let fleet: Fleet
let browser: Browser

before(async () => {
  await buildConsole()
  ;[fleet, browser] = await Promise.all([makeFleet(), openBrowser()])
})
after(async () => {
  await browser?.close()
  await fleet?.close()
})

/** Opens the console in a tab. At the end the browser must have reported no error. */
async function inTab(view: View, use: (page: Page) => Promise<void>, key = fleet.keys.all): Promise<void> {
  const { page, complaints } = await openTab(browser, view)
  await enter(page, fleet, key)
  await use(page)
  assert.deepEqual(complaints, [])
  await page.context().close()
}

test('the first view is there within a second', async () => {
  const times: number[] = []
  // Only the shortest time counts, because the first tab also starts the browser. Each tab has an empty cache.
  for (let i = 0; i < FIRST_VIEWS; i++) {
    const { page } = await openTab(browser)
    const startedAt = performance.now()
    await enter(page, fleet, fleet.keys.reads)
    await page.waitForSelector('text=covers all')
    times.push(performance.now() - startedAt)
    await page.context().close()
  }
  const ms = Math.min(...times)
  console.log(`     first views with all figures in ${times.map(Math.round).join(', ')} ms`)
  assert.ok(ms < FIRST_VIEW_MS_MAX, `${ms} ms`)
})

test('screenshots', async () => {
  mkdirSync(SHOTS, { recursive: true })
  await inTab({}, async (page) => {
    for (const each of pagesOf(fleet)) {
      await show(page, each)
      await shoot(page, each.name)
    }
  })
})

test('the key in the link is out of the address at once, and lasts as long as the tab', async () => {
  await inTab({}, async (page) => {
    assert.equal(new URL(page.url()).hash, '#/')
    await page.goBack().catch(() => {})
    assert.ok(!page.url().includes('tly_'))
    await page.goto(`${fleet.served.url}/console/`)
    await page.waitForSelector('text=covers all')
    const stored = await page.evaluate<string>('JSON.stringify([sessionStorage, localStorage])')
    const [session, local] = JSON.parse(stored) as [Record<string, string>, Record<string, string>]
    assert.equal(session['tallystick.apiKey'], fleet.keys.all)
    assert.ok(!JSON.stringify(local).includes('tly_'))
  })
})

for (const scheme of ['light', 'dark'] as const) {
  test(`axe finds nothing on any page, ${scheme}`, { timeout: 240_000 }, async () => {
    await inTab({ scheme }, async (page) => {
      await page.evaluate(AXE)
      for (const each of pagesOf(fleet)) {
        await show(page, each)
        await openDetails(page)
        assert.deepEqual(await violationsOf(page), [], each.name)
      }
    })
    const { page } = await openTab(browser, { scheme })
    await page.goto(`${fleet.served.url}/console/`)
    await page.waitForSelector('text=API key')
    await page.evaluate(AXE)
    assert.deepEqual(await violationsOf(page), [], 'entrance')
    await page.context().close()
  })
}

test('no page is wider than 320 px', async () => {
  await inTab({ width: 320, height: 700 }, async (page) => {
    for (const each of pagesOf(fleet)) {
      await show(page, each)
      await openDetails(page)
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(width <= 320, `${each.name} is ${width} px wide`)
    }
  })
})

test('every page has one heading of the first rank, and its tables have captions', async () => {
  await inTab({}, async (page) => {
    for (const each of pagesOf(fleet)) {
      await show(page, each)
      assert.equal(await page.locator('h1').count(), 1, each.name)
      assert.equal(await page.locator('table:not(:has(caption))').count(), 0, each.name)
    }
  })
})

test('with a key that can only read, the first pages show no warnings and no steps', async () => {
  await inTab(
    {},
    async (page) => {
      await page.waitForSelector('text=Newest records')
      for (const each of pagesOf(fleet)) {
        await show(page, each.name === 'verdict' ? { ...each, ready: 'text=This key can take none' } : each)
        assert.equal(await page.locator('.note').count(), 0, each.name)
        assert.equal(await page.locator('button:has-text("Accept")').count(), 0, each.name)
      }
    },
    fleet.keys.reads,
  )
})

test('on a phone the pages fold into one line, and a row says first what happened and when', async () => {
  await inTab({ width: 390, height: 844 }, async (page) => {
    const bottom = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((one) => one.getBoundingClientRect().bottom)
    const names = page.getByRole('navigation')
    assert.equal(await names.isVisible(), false)
    assert.ok((await bottom('header')) < 60)
    await page.click('button:has-text("Menu")')
    await names.getByRole('link', { name: 'Waiting' }).waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Menu')
    await page.keyboard.press('Enter')
    await names.getByRole('link', { name: 'Waiting' }).click()
    await page.waitForSelector('text=Needs a verdict: 1')
    assert.equal(await names.isVisible(), false)
    assert.ok((await bottom('.works h3')) < (await bottom('button:has-text("Accept")')))
    for (const each of pagesOf(fleet)) {
      await show(page, each)
      const cut = await page.evaluate<string[]>(`[...document.querySelectorAll('main table td')]
        .filter((one) => one.getBoundingClientRect().right > innerWidth || one.scrollWidth > one.clientWidth + 1)
        .map((one) => one.textContent)`)
      assert.deepEqual(cut, [], each.name)
    }
    await show(page, { hash: '#/search?type=approval%2F1', ready: 'text=within budget' })
    const [row] = await page.locator('main tbody tr').allTextContents()
    assert.match(row!, /^deny.*no-deletes.*\d\d:\d\d:\d\d .*rec/)
    assert.ok(!row!.includes('RECORDED'))
  })
})

test('a reader without a mouse gives a verdict', async () => {
  const { page, complaints } = await openTab(browser)
  await page.goto(`${fleet.served.url}/console/`)
  await page.waitForSelector('text=API key')
  await tabTo(page, 'API key')
  await page.keyboard.insertText(fleet.keys.all)
  await page.keyboard.press('Enter')
  await page.waitForSelector('h1:has-text("Overview")')
  await tabTo(page, 'Waiting')
  await page.keyboard.press('Enter')
  await page.waitForSelector('text=Needs a verdict: 1')
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
  await tabTo(page, 'Accept')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Reason (optional): it is signed, and can be erased')
  await page.keyboard.insertText('counted twice')
  await page.keyboard.press('Enter')
  await page.waitForSelector('text=Needs a verdict: 0')
  const { state, gated } = await fleet.client.records.get(fleet.records.waiting)
  assert.deepEqual([state, gated?.verdict?.reason], ['ACCEPTED', 'counted twice'])
  assert.deepEqual(complaints, [])
  await page.context().close()
})

test('an empty ledger says what to do next, on its first page and in its search', async () => {
  const { key } = await fleet.served.newLedger('empty')
  await inTab(
    {},
    async (page) => {
      await page.waitForSelector('text=npx tallystick notarize')
      await show(page, { hash: '#/search', ready: 'text=npx tallystick notarize' })
      await show(page, { hash: '#/work', ready: 'text=Nothing waits for a verdict' })
      await show(page, { hash: '#/nowhere', ready: 'main a:has-text("Search")' })
    },
    key,
  )
})

test('a run is drawn as bars of time, folds and opens by keyboard, and shows what failed', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: `#/run/${fleet.records.run}`, ready: 'text=1 action without an outcome' })
    const rows = page.locator('.waterfall tbody tr.activity')
    assert.equal(await rows.count(), 6)
    const texts = await rows.allTextContents()
    assert.ok(texts.some((text) => /fetch.*error.*no answer within 10 s.*10 s/.test(text)))
    assert.ok(texts.some((text) => /delete_table.*denied.*no-deletes/.test(text)))
    assert.ok(texts.some((text) => /send_mail.*no outcome/.test(text)))
    assert.ok(texts.some((text) => /pay_invoice.*allow person ada/.test(text)))
    const widths = await page
      .locator('.waterfall rect:first-child')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width))
    assert.ok(widths[0]! > 5 * widths[2]! && widths[2]! > 3 * widths[1]!, `${widths}`)
    await rows.first().focus()
    await page.keyboard.press('ArrowLeft')
    assert.equal(await rows.count(), 1)
    await page.waitForSelector('text=3 not ok')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.inside .json:has-text("price of copper")')
    await page.evaluate(AXE)
    assert.deepEqual(await violationsOf(page), [])
    assert.match((await page.locator('tr:focus').textContent())!, /search/)
    await page.keyboard.press('End')
    assert.match((await page.locator('tr:focus').textContent())!, /send_mail/)
    await page.waitForSelector('main td:has-text("pay_invoice")')
  })
})

test('the first rows of a run of a thousand actions are there at once, and all of them soon', {
  timeout: 60_000,
}, async () => {
  const { client, key } = await fleet.served.newLedger('large')
  const root = await recordLargeRun(client)
  await inTab(
    {},
    async (page) => {
      const startedAt = performance.now()
      await page.evaluate(`location.hash = '#/run/${root}'`)
      await page.waitForSelector('.waterfall tr:nth-child(100)')
      const firstMs = performance.now() - startedAt
      await page.waitForSelector('text=every action has its outcome')
      console.log(
        `     first rows in ${Math.round(firstMs)} ms, all in ${Math.round(performance.now() - startedAt)} ms`,
      )
      assert.ok(firstMs < RUN_FIRST_ROWS_MS_MAX, `${firstMs} ms`)
      await page.waitForSelector('text=2,002 records')
      const pressedAt = performance.now()
      await page.locator('.waterfall tr.activity').nth(1).focus()
      for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowDown')
      const keyMs = (performance.now() - pressedAt) / 20
      assert.ok(keyMs < FROZEN_MS_MAX / 2, `${keyMs} ms a key`)
    },
    key,
  )
})

/** Records a thousand actions below one root action, each with its outcome. Returns the id of the root. */
async function recordLargeRun(client: Tallystick): Promise<string> {
  const root = await client.records.notarize({
    type: 'agent-action/1',
    payload: { kind: 'agent', name: 'migrate', told: 'held' },
  })
  for (let batch = 0; batch < 10; batch++) {
    const items = Array.from({ length: 100 }, (_, i) => [
      {
        type: 'agent-action/1' as const,
        parent: root.id,
        payload: { kind: 'tool', name: `step ${batch}`, told: 'before', arguments: { invoice: i } },
      },
      {
        type: 'agent-outcome/1' as const,
        parent: 2 * i,
        payload: { status: i % 10 === 3 ? 'error' : 'ok', durationMs: i },
      },
    ]).flat()
    await client.batches.notarize(items as Parameters<typeof client.batches.notarize>[0])
  }
  await client.records.notarize({ type: 'agent-outcome/1', parent: root.id, payload: { status: 'ok' } })
  return root.id
}

test('a text is found in payloads, and an answer without a record says what to try next', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: '#/search?text=COPPER', ready: 'text=payload.arguments.query' })
    await page.waitForSelector('text=payload.deliver')
    await page.waitForSelector('text=of all')
    await show(page, { hash: '#/search?text=Jane%20Roe', ready: 'text=cannot be found' })
    await page.waitForSelector('text=Try fewer words')
    await show(page, {
      hash: '#/search?text=copper&type=approval%2F1',
      ready: 'text=Search without 1 filter',
    })
    await page.click('text=Search without 1 filter')
    await page.waitForSelector('text=payload.deliver')
    await show(page, { hash: '#/search?text=buy', ready: 'text=Records by the agent buyer' })
  })
})

test('one box finds records, entries, traces, references and agents', async () => {
  await inTab({}, async (page) => {
    const finds = async (text: string, expected: string) => {
      await show(page, { hash: '#/search', ready: 'text=Any text, an id' })
      await page.getByLabel(/Any text, an id/).fill(text)
      await page.keyboard.press('Enter')
      await page.waitForSelector(expected)
    }
    await finds(fleet.records.signed, `h1:has-text("${fleet.records.signed}")`)
    await finds('0', 'text=ledger-created')
    await finds(fleet.trace, 'text=13 records')
    await finds('order:77', 'text=1 record found')
    await finds('buyer', 'text=3 records.')
    await finds('"buyer"', 'text=records found')
  })
})

test('the console answers the questions of docs/guides/console.md, on the pages that are named there', async () => {
  const told = readFileSync(join(ROOT, 'docs', 'guides', 'console.md'), 'utf8')
  await inTab({}, async (page) => {
    for (const { question, go, answer } of QUESTIONS) {
      assert.ok(told.includes(question), question)
      await show(page, { hash: '#/', ready: 'h1:has-text("Overview")' })
      await go(page, fleet)
      await page.locator('main').getByText(answer(fleet)).first().waitFor({ timeout: 10_000 })
    }
  })
})

test('a hold is set and lifted, and a rule is looked at before it is set', async () => {
  const { page, complaints } = await openTab(browser)
  await enter(page, fleet, fleet.keys.all)
  await show(page, { hash: '#/retention', ready: 'text=2026/17' })
  await page.locator('summary:has-text("Hold records")').click()
  await page.getByLabel(/^Case:/).fill('2026/18')
  await page.getByLabel('Only these records (ids)').fill(`${fleet.records.run} ${fleet.records.open}`)
  await page.click('button:has-text("Hold them")')
  await page.locator('summary:has-text("Lift 2026/18")').click()
  await page.click('button:has-text("Lift it")')
  await page.waitForSelector('text=lifted by entry')
  await page.locator('summary:has-text("Set a rule")').click()
  await page.getByLabel(/^Days/).first().fill('2')
  await page.getByLabel(/^Basis/).fill('too_short')
  await page.click('button:has-text("Show what it would erase")')
  await page.waitForSelector('text=It would erase nothing now.')
  await page.click('button:has-text("Set it")')
  await page.waitForSelector('.note.bad')
  await page.getByLabel(/^Days/).first().fill('900')
  await page.getByLabel(/^Basis/).fill('policy_9')
  await page.click('button:has-text("Show what it would erase")')
  await page.click('button:has-text("Set it")')
  await page.waitForSelector('text=900 days')
  // The server refused a rule of two days. The browser reports the refusal as an error.
  assert.deepEqual(complaints, [
    'Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)',
  ])
  await page.context().close()
  const holds = await fleet.client.holds.list().toArray(9)
  assert.deepEqual(
    holds.map((hold) => [hold.case, hold.records?.length, hold.liftedBy !== null]),
    [
      ['2026/18', 2, true],
      ['2026/17', 1, false],
    ],
  )
})

test('a case file of a day is made, verified and downloaded; one of an agent is a selection', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: '#/case', ready: 'text=Make the file' })
    await page.click('button:has-text("Make the file")')
    await page.waitForSelector('text=It is complete', { timeout: 60_000 })
    // The browser has not stored a trusted key yet, so the page says that the key came from the server.
    await page.waitForSelector('text=The key came from this server just now, so you trust the server for it')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('text=Download the bundle'),
    ])
    const file = join(temporaryDir(), 'day.bundle')
    await download.saveAs(file)
    const { noteVerifierKey } = await fleet.client.ledger.get()
    const { completeness } = await verifyBundle(readFileSync(file), { noteKey: noteVerifierKey })
    assert.equal(completeness, 'complete')
    await page.getByLabel('Only of this agent').selectOption({ label: 'buyer' })
    await page.click('button:has-text("Make the file")')
    await page.waitForSelector('text=Records of agent', { timeout: 60_000 })
    await show(page, { hash: `#/record/${fleet.records.signed}`, ready: 'text=Verified in this browser' })
    await page.waitForSelector('text=This browser stores the key now')
    await show(page, { hash: '#/entry/0', ready: 'text=This browser has stored the key since' })
    await show(page, {
      hash: '#/checkpoints',
      ready: 'text=This browser has stored the key since',
    })
    await page.getByLabel(/^Note key from elsewhere/).fill(noteVerifierKey)
    await page.click('button:has-text("Use this key")')
    await show(page, { hash: '#/case', ready: 'text=Make the file' })
    await page.click('button:has-text("Make the file")')
    await page.waitForSelector('text=It is signed by the key that you gave at', { timeout: 60_000 })
    await page.getByLabel('From (UTC)').fill('2020-01-01')
    await page.getByLabel('To (inclusive)').fill('2020-01-02')
    await page.click('button:has-text("Make the file")')
    await page.waitForSelector('text=the ledger has no entry in that period')
  })
})

test('what was erased is in the timeline of its record, and in the list of all', async () => {
  const { seq } = (await fleet.client.records.get(fleet.records.erased)).erasure!
  await inTab({}, async (page) => {
    await show(page, {
      hash: `#/record/${fleet.records.erased}`,
      ready: '.steps strong:has-text("payload-erased")',
    })
    assert.equal(await page.locator(`.steps a:has-text("entry ${seq}")`).count(), 1)
    await show(page, {
      hash: '#/retention',
      ready: `section:has(h2:has-text("Erased documents")) a:has-text("entry ${seq}")`,
    })
    await page.waitForSelector('text=data_subject_request')
  })
})

test('a day counts each action once: its tables and its headings agree', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: '#/day', ready: 'text=Actions without an outcome: 1' })
    const columns = await page.locator('table:has(caption:text-is("Agents")) th').allTextContents()
    const sumOf = async (name: string) => {
      const cells = page.locator(
        `table:has(caption:text-is("Agents")) td:nth-child(${columns.indexOf(name) + 1})`,
      )
      return (await cells.allTextContents()).reduce((sum, cell) => sum + Number(cell), 0)
    }
    for (const [column, heading] of [
      ['Denied', 'Actions denied'],
      ['Failed', 'Actions failed'],
      ['No outcome', 'Actions without an outcome'],
      ['Unknown', 'Actions with an unknown outcome'],
    ] as const) {
      const sum = await sumOf(column)
      await page.waitForSelector(`h2:text-is("${heading}: ${sum}")`)
      if (sum > 0)
        assert.equal(await page.locator(`table:has(caption:text-is("${heading}")) tbody tr`).count(), sum)
    }
    assert.deepEqual([await sumOf('Denied'), await sumOf('Failed')], [1, 1])
    await page.waitForSelector('text=so claims')
  })
})

test('a peer without a comparison is not shown as a fault', async () => {
  const { client, key } = await fleet.served.newLedger('Buyer')
  const { id } = await client.peers.invite({ name: 'harbour' })
  await inTab(
    {},
    async (page) => {
      await show(page, { hash: `#/peers/${id}`, ready: 'text=not compared yet' })
      assert.equal(await page.locator('.state.bad').count(), 0)
    },
    key,
  )
})

test('times have their zone, and UTC and their age as a title', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: `#/record/${fleet.records.signed}`, ready: 'text=Verified in this browser' })
    const times = await page.locator('main time').allTextContents()
    assert.ok(times.length > 1)
    for (const time of times) assert.match(time, /^(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d \S+$/)
    assert.match((await page.locator('main time').first().getAttribute('title'))!, /Z \(UTC\), .* ago$/)
  })
})

test('the text for a refused key has no headers', async () => {
  const { page } = await openTab(browser)
  await page.goto(`${fleet.served.url}/console/#key=tly_nobodys`)
  const refusal = (await page.locator('.note.bad').textContent())!
  assert.match(refusal, /^This server refuses the key: the API key is unknown, or was revoked\..*Request /)
  assert.doesNotMatch(refusal, /Authorization|Bearer|\b401\b/)
  await page.context().close()
})

test('a cosignature counts where the key of its witness is known', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: '#/checkpoints', ready: 'text=key not known here' })
    const known = async (key: string) => {
      await page.getByLabel(/^Key of a witness/).fill(key)
      await page.click('button:has-text("Trust this witness")')
    }
    await known('witness.example+00000000+none')
    await page.waitForSelector('.note.bad')
    await known(fleet.witnessKey)
    await page.waitForSelector('.state.good:has-text("verified")')
    await page.locator('button:has-text("Forget ")').first().click()
    await page.waitForSelector('text=key not known here')
  })
})

test('a link with another key does not replace the one in use', async () => {
  await inTab({}, async (page) => {
    const link = (key: string) => page.evaluate(`location.hash = 'key=${key}'`)
    const answer = (yes: boolean) =>
      page.evaluate(`globalThis.asked = 0; globalThis.confirm = () => (globalThis.asked++, ${yes})`)
    await answer(false)
    await link(fleet.keys.reads)
    await until(async () => (await page.evaluate('globalThis.asked')) === 1)
    assert.equal(await page.evaluate(`sessionStorage.getItem('tallystick.apiKey')`), fleet.keys.all)
    await answer(true)
    await link(fleet.keys.reads)
    await page.waitForSelector('text=key console')
  })
})

test('an envelope is shown down to its bytes', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: `#/record/${fleet.records.signed}`, ready: 'text=Envelope of' })
    await page.locator('summary:has-text("Envelope of")').first().click()
    await page.waitForSelector('text=COSE_Sign1 (18)')
    const bytes = (await page.locator('.bytes tbody td:nth-child(3)').allTextContents())
      .join('')
      .replaceAll(' ', '')
    const [entry] = await fleet.client.records.entries(fleet.records.signed).toArray(1)
    assert.equal(bytes, Buffer.from(entry!.envelope, 'base64').toString('hex'))
  })
})

test('the bundle that is downloaded verifies, with the server gone too', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: `#/record/${fleet.records.accepted}`, ready: 'text=Download the bundle' })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('text=Download the bundle'),
    ])
    const file = join(temporaryDir(), 'record.bundle')
    await download.saveAs(file)
    await show(page, { hash: '#/verify', ready: 'input[type=file]' })
    await page.context().setOffline(true)
    await drop(page, readFileSync(file, 'utf8'), 'record.bundle')
    await page.waitForSelector('text=This bundle verifies')
    await drop(page, readFileSync(file, 'utf8').replace('copper', 'silver'), 'changed.bundle')
    await page.waitForSelector('text=document_digest')
  })
})

test('a record that was changed in the database turns its page red, and says why', async () => {
  const { toTamper } = fleet.records
  const replace = (from: string, to: string) =>
    fleet.served.tamper(
      `update tallystick.records set payload = convert_to(replace(convert_from(payload, 'utf8'), $1, $2), 'utf8')
       where convert_from(payload, 'utf8') like '%INV-2203%'`,
      [from, to],
    )
  assert.equal(await replace('Acme', 'Acne'), 1)
  await inTab({}, async (page) => {
    await show(page, { hash: `#/record/${toTamper}`, ready: 'text=Does not verify' })
    assert.match((await page.locator('.verdict .reason').textContent())!, /document_digest/)
    assert.ok(await page.evaluate(`document.documentElement.classList.contains('alarm')`))
    const paper = `getComputedStyle(document.querySelector('main')).backgroundColor`
    assert.equal(await page.evaluate(paper), 'rgb(253, 235, 234)')
    await shoot(page, 'tampered')
    await replace('Acne', 'Acme')
    await show(page, { hash: `#/record/${fleet.records.signed}`, ready: 'text=Verified in this browser' })
    assert.ok(!(await page.evaluate(`document.documentElement.classList.contains('alarm')`)))
    await show(page, { hash: `#/record/${toTamper}`, ready: 'text=Verified in this browser' })
  })
})

test('another key than the one that this browser has kept is not believed', async () => {
  await inTab({}, async (page) => {
    await show(page, { hash: `#/record/${fleet.records.signed}`, ready: 'text=Verified in this browser' })
    await page.evaluate(`{
      const name = 'tallystick.kept.${fleet.ledger}'
      const kept = JSON.parse(localStorage.getItem(name))
      const other = kept.noteKey.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
      localStorage.setItem(name, JSON.stringify({ ...kept, noteKey: other, checkpoint: null }))
    }`)
    await show(page, { hash: `#/record/${fleet.records.accepted}`, ready: 'text=Does not verify' })
  })
})

test('no text of a hostile ledger runs, becomes markup, reorders the text beside it or is hidden', {
  timeout: 240_000,
}, async () => {
  const { made, client, key } = await fleet.served.newLedger(HOSTILE[0]!)
  const ids = await recordHostile(client, made.agent.id)
  const hostile: Fleet = { ...fleet, client }
  const { page, complaints } = await openTab(browser)
  await enter(page, hostile, key)
  const hashes = [
    ...[
      '#/',
      '#/day',
      '#/search',
      '#/agents',
      `#/agents/${made.agent.id}`,
      '#/work',
      '#/peers',
      '#/checkpoints',
      '#/retention',
      '#/audits',
      '#/case',
    ],
    ...ids.flatMap((id) => [`#/record/${id}`, `#/run/${id}`]),
    ...(await client.records.entries(ids.at(-1)!).toArray(9)).map(({ seq }) => `#/entry/${seq}`),
    ...HOSTILE.flatMap((text) => [
      `#/search?reference=${encodeURIComponent(text)}`,
      `#/record/${encodeURIComponent(text)}`,
      `#/run?trace=${encodeURIComponent(text)}`,
    ]),
  ]
  let shown = 0
  let marked = 0
  for (const hash of hashes) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await page.waitForTimeout(150)
    await openDetails(page)
    shown += (await page.locator('body').textContent())!.split('<img').length - 1
    assert.equal(await page.evaluate('globalThis.pwned'), undefined, hash)
    assert.deepEqual(await turnedIn(page), [], hash)
    marked += await page.locator('.hidden').count()
    assert.equal(
      await page
        .locator('main img, main script, main iframe, main style, main a[href^="javascript:"]')
        .count(),
      0,
      hash,
    )
  }
  assert.ok(shown > 20, `the attempts were shown ${shown} times`)
  assert.ok(marked > 20, `${marked} marks were shown`)
  const real = complaints.filter((text) => !/status of 4\d\d/.test(text))
  assert.deepEqual(real, [])
  await page.context().close()
})

test('ten thousand live events do not freeze the page, nor take the focus', {
  timeout: 180_000,
}, async () => {
  await inTab({}, async (page) => {
    await page.evaluate(`{
      globalThis.longest = 0
      let last = performance.now()
      setInterval(() => {
        const now = performance.now()
        globalThis.longest = Math.max(globalThis.longest, now - last - 20)
        last = now
      }, 20)
    }`)
    await page.locator('button:has-text("Pause")').focus()
    const client = fleet.client
    const seen = async () => Number(await page.locator('[data-live-total]').getAttribute('data-live-total'))
    // The stream has started as soon as one of its events arrives.
    for (let i = 0; (await seen()) === 0; i++) await client.records.notarize({ payload: { tool: 'ping', i } })
    const before = await seen()
    let left = LIVE_EVENTS
    const record = async () => {
      while (left-- > 0) await client.records.notarize({ payload: { tool: 'ping', left } })
    }
    await Promise.all(Array.from({ length: 64 }, record))
    await until(async () => (await seen()) >= before + LIVE_EVENTS)
    const rows = await page.locator('.live tbody tr').count()
    assert.ok(rows > 0 && rows <= 200, `${rows} rows`)
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Pause')
    const longest = await page.evaluate<number>('globalThis.longest')
    console.log(`     ${LIVE_EVENTS} events: the page was busy for ${Math.round(longest)} ms at most`)
    // The limit is twice FROZEN_MS_MAX, because server, worker, Postgres and 64 clients share the cores with the page.
    // So 506 ms were once measured although the page was not at fault.
    assert.ok(longest < 2 * FROZEN_MS_MAX, `${longest} ms`)
  })
})

test('a file from a disk is verified without any server', async () => {
  const text = await new Response(await fleet.client.exports.stream()).text()
  const receipt = await fleet.client.records.receipt(fleet.records.signed)
  const { noteVerifierKey } = await fleet.client.ledger.get()
  const [page_, whole] = [join(ROOT, 'console', 'dist', 'verify.html'), await kidOf()]
  const { page: console_, complaints: consoles } = await openTab(browser)
  await enter(console_, fleet, fleet.keys.reads)
  await show(console_, { hash: '#/verify', ready: 'input[type=file]' })
  await fleet.served.stopServer()
  const { page, complaints } = await openTab(browser)
  await page.goto(`file://${page_}`)
  for (const tab of [console_, page]) {
    await tab.getByLabel(/Key that you trust/).fill(whole)
    await drop(tab, text, 'ledger.ndjson')
    await tab.waitForSelector('text=This export verifies')
    await tab.waitForSelector('text=signed by the key that you gave')
    await drop(tab, text.replace('copper', 'silver'), 'changed.ndjson')
    await tab.waitForSelector('text=document_digest')
    await tab.getByLabel(/Key that you trust/).fill(noteVerifierKey)
    await drop(tab, Buffer.from(receipt).toString('latin1'), 'record.cose', 'latin1')
    await tab.waitForSelector('text=This receipt verifies')
  }
  assert.deepEqual(complaints, [])
  // Errors of the network are allowed, because the open tab requests events from a server that is gone.
  assert.deepEqual(
    consoles.filter((said) => !said.includes('ERR_')),
    [],
  )
  await page.context().close()
  await console_.context().close()
})

async function kidOf(): Promise<string> {
  return (await fleet.client.keyDocument()).keys[0]!.kid
}

async function violationsOf(page: Page): Promise<string[]> {
  const found = await page.evaluate<{ id: string; nodes: { html: string; failureSummary: string }[] }[]>(
    'axe.run().then(({ violations }) => violations)',
  )
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]!.html} ${nodes[0]!.failureSummary}`)
}

/**
 * Returns the texts of a page that have hidden or bidirectional characters, or could reorder neighbouring text. It
 * checks text nodes, attributes and the title. It does not check URLs, or values of inputs, which the reader has
 * typed.
 */
function turnedIn(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`{
    const hidden = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]|[\\p{Mn}\\p{Me}]{5}/u
    const rtl = /[\\u0590-\\u08ff]/
    const found = hidden.test(document.title) ? [document.title] : []
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
    while (walk.nextNode()) {
      const node = walk.currentNode
      if (node.nodeType === 3) {
        const isAlone = node.parentElement.localName === 'bdi' && !/[a-z"]/i.test(node.data)
        if (hidden.test(node.data) || (rtl.test(node.data) && !isAlone)) found.push(node.data)
      } else for (const { name, value } of node.attributes)
        if (!['href', 'value'].includes(name) && hidden.test(value)) found.push(name + '=' + value)
    }
    found
  }`)
}

async function openDetails(page: Page): Promise<void> {
  await page.evaluate(`for (const one of document.querySelectorAll('main details')) one.open = true`)
  await page.waitForTimeout(60)
}

async function tabTo(page: Page, name: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    const focused = await page.evaluate<string>(`{
      const one = document.activeElement;
      (one.labels?.[0]?.textContent ?? '') + '|' + one.textContent
    }`)
    if (focused.split('|').some((text) => text.trim() === name)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not come to ${name}`)
}

async function drop(
  page: Page,
  content: string,
  name: string,
  encoding: BufferEncoding = 'utf8',
): Promise<void> {
  const base64 = Buffer.from(content, encoding).toString('base64')
  await page.evaluate(`{
    const bytes = Uint8Array.from(atob(${JSON.stringify(base64)}), (each) => each.charCodeAt(0))
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([bytes], ${JSON.stringify(name)}))
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
  }`)
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.evaluate('document.activeElement?.blur?.()')
  const file = join(SHOTS, `${name}.png`)
  mkdirSync(SHOTS, { recursive: true })
  writeFileSync(file, withPalette(await page.screenshot()))
  assert.ok(statSync(file).size <= SHOT_BYTES_MAX, `${name} has ${statSync(file).size} bytes`)
}
