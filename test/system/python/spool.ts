import { Tallystick } from '../../../sdk/client.ts'
import { openSpool } from '../../../sdk/node/spool.ts'
import { makeItem } from '../../../sdk/notarizer/items.ts'

/*
 * spool.ts write DIR COUNT: writes a spool with a batch of COUNT records, as a killed process leaves it, and one
 * record whose parent is the first record.
 *
 * spool.ts send DIR: sends a spool's records to TALLYSTICK_URL, and prints the tags of the recorded ones.
 */
const [what, directory, count] = process.argv.slice(2)
const spool = await openSpool(directory!)
if (what === 'write') {
  const items = Array.from({ length: Number(count) }, (_, i) =>
    makeItem({ i, text: 'Käse "\\ 😀' }, { tag: `tag "${i}"`, handle: `h${i}` }, Date.now()),
  )
  const batch = spool.begin('0123456789abcdef0123456789abcdef', items[0]!, items[0]!.bytes)
  for (const item of items.slice(1)) batch.append(item, item.bytes)
  batch.seal()
  const last = makeItem({ i: Number(count) }, { parentHandle: 'h0' }, Date.now())
  spool.begin('fedcba9876543210fedcba9876543210', last, last.bytes).seal()
  await spool.close()
} else {
  const tags: (string | undefined)[] = []
  const notarizer = new Tallystick().notarizer({
    spool,
    onRecorded: ({ records }) => tags.push(...records.map(({ tag }) => tag)),
  })
  await notarizer.adopt()
  await notarizer.close()
  console.log(JSON.stringify({ tags, stats: notarizer.stats }))
}
