import { Tallystick } from '../../../sdk/client.ts'
import type { BundleRequest } from '../../../sdk/resources/bundle-lines.ts'
import { fill } from './make-files.ts'

/*
 * bundles.ts fill: fills the ledger of TALLYSTICK_API_KEY with entries of many kinds, and prints the positions of the
 * entries.
 *
 * bundles.ts: reads selections, one JSON line each, and prints the text of each bundle. The Python package compares the
 * text with the text of its own bundles.
 */
type Asked = {
  readonly url: string
  readonly of: 'record' | 'run' | 'range' | 'filter'
  readonly from: readonly unknown[]
  readonly request: BundleRequest
}

if (process.argv[2] === 'fill') {
  console.log(JSON.stringify(await fill(new Tallystick(), process.env['TALLYSTICK_URL']!)))
} else {
  let asked = ''
  for await (const piece of process.stdin) asked += piece
  for (const line of asked.split('\n')) console.log(JSON.stringify({ text: await textOf(JSON.parse(line)) }))
}

async function textOf({ url, of, from, request }: Asked): Promise<string> {
  const { bundles } = new Tallystick({ baseUrl: url })
  const make = bundles[of] as (...given: readonly unknown[]) => AsyncIterable<string>
  return (await Array.fromAsync(make.call(bundles, ...from, request))).join('')
}
