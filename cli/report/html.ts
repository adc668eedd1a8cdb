import { plainLines } from '../../sdk/plain.ts'
import { type Control, type ControlMap, isEvidence } from './control-map.ts'
import type { Figures } from './figures.ts'
import { REPORT_ROWS_PER_CONTROL_MAX } from './limits.ts'
import type { ReportRow } from './rows.ts'

const STYLE = `body{font:14px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#111;background:#fff}
table{border-collapse:collapse;width:100%;font-size:12px}th,td{border-bottom:1px solid #ccc;padding:.2rem .4rem;text-align:left;
overflow-wrap:anywhere;vertical-align:top}thead{display:table-header-group}tr,figure{break-inside:avoid}h2{margin-top:2rem;break-after:avoid}
figure{margin:1rem 0}figcaption{font-weight:600}svg{width:100%;height:auto}.leaf{font:10px ui-monospace,monospace}
.denied{font-weight:600}footer{margin-top:2rem;border-top:2px solid #111;font:12px ui-monospace,monospace;overflow-wrap:anywhere}
@media print{body{margin:0;max-width:none}}`

const COLUMNS = ['Seq', 'Recorded', 'Kind', 'Record', 'Type', 'Agent', 'For', 'Outcome', 'Signed by', 'Leaf']

/**
 * Yields a printable HTML file. It has no script and no external resource, and all text of others is escaped. Reads
 * `rows` once for each control, so that memory does not grow with the file.
 */
export async function* htmlOf(
  rows: () => AsyncIterable<ReportRow>,
  map: ControlMap,
  figures: Figures,
  verdict: string,
): AsyncGenerator<string, void, undefined> {
  yield `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(map.title)}</title><style>${STYLE}</style></head><body>
<h1>${escapeHtml(map.title)}</h1>\n`
  if (map.note !== undefined) yield `<p>${escapeHtml(map.note)}</p>\n`
  const days = figures.days
  yield `<p>${figures.rows} entries and records, ${days[0]?.day ?? 'no day'} to ${days.at(-1)?.day ?? 'no day'} (UTC).</p>\n`
  yield plot(
    'Volume: entries and records',
    figures.bars((day) => day.rows),
  )
  for (const [name, count] of Object.entries(figures.outcomes))
    yield plot(
      `Outcome ${name}: ${count}`,
      figures.bars(({ outcomes }) => outcomes[name] ?? 0),
    )
  yield plot(
    'Denials',
    figures.bars((day) => day.denied),
  )
  for (const control of map.controls) yield* section(rows(), control)
  yield `<footer><p>${escapeHtml(verdict)}</p></footer></body></html>\n`
}

async function* section(
  rows: AsyncIterable<ReportRow>,
  control: Control,
): AsyncGenerator<string, void, undefined> {
  yield `<section><h2>${escapeHtml(control.id)}: ${escapeHtml(control.title)}</h2>\n<table><thead><tr>`
  yield `${COLUMNS.map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead><tbody>\n`
  let count = 0
  for await (const row of rows)
    if (isEvidence(control, row) && ++count <= REPORT_ROWS_PER_CONTROL_MAX) yield tableRow(row)
  yield '</tbody></table>\n'
  const rest = count - REPORT_ROWS_PER_CONTROL_MAX
  yield `<p>${count} in all${rest > 0 ? `; ${rest} of these are only in the CSV` : ''}.</p></section>\n`
}

function tableRow(row: ReportRow): string {
  const { seq, recordedAt, kind, record, type, agent, onBehalfOf, outcome, denied, signedBy, leaf } = row
  const cells = [String(seq), recordedAt, kind, record, type, agent, onBehalfOf].map(
    (one) => `<td>${escapeHtml(one)}</td>`,
  )
  return `<tr>${cells.join('')}<td${denied ? ' class="denied"' : ''}>${escapeHtml(outcome)}</td><td>${signedBy}</td><td class="leaf">${escapeHtml(leaf)}</td></tr>\n`
}

const [WIDTH, HEIGHT, BASE] = [720, 120, 100]

function plot(caption: string, bars: readonly { readonly from: string; readonly value: number }[]): string {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  const width = WIDTH / Math.max(1, bars.length)
  const shown = bars.map(({ from, value }, i) => {
    const height = (value / most) * (BASE - 10)
    const place = `x="${(i * width).toFixed(2)}" y="${(BASE - height).toFixed(2)}"`
    return `<rect ${place} width="${Math.max(1, width - 1).toFixed(2)}" height="${height.toFixed(2)}" fill="#1f6feb"><title>${from}: ${value}</title></rect>`
  })
  const [first, last] = [bars[0]?.from ?? '', bars.at(-1)?.from ?? '']
  return `<figure><figcaption>${escapeHtml(caption)}</figcaption><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(caption)}, ${first} to ${last}, ${most} at most">
${shown.join('')}<text x="0" y="${HEIGHT - 5}" font-size="11">${first}</text><text x="${WIDTH}" y="${HEIGHT - 5}" font-size="11" text-anchor="end">${last}; most: ${most}</text></svg></figure>\n`
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return plainLines(text).replace(/[&<>"']/g, (char) => ESCAPES[char]!)
}
