import { type ControlMap, controlsOf } from './control-map.ts'
import type { Figures } from './figures.ts'
import type { ReportRow } from './rows.ts'

/** Yields one JSON object: the map, counts by day, rows with their controls, and the verifier's last line. */
export async function* jsonOf(
  rows: AsyncIterable<ReportRow>,
  map: ControlMap,
  figures: Figures,
  verdict: string,
): AsyncGenerator<string, void, undefined> {
  const head = JSON.stringify({ report: 1, ...map, days: figures.days })
  yield `${head.slice(0, -1)},"rows":[\n`
  let isFirst = true
  for await (const row of rows) {
    yield `${isFirst ? '' : ',\n'}${JSON.stringify({ ...row, controls: controlsOf(map, row) })}`
    isFirst = false
  }
  yield `\n],"verified":${JSON.stringify(verdict)}}\n`
}
