import { describeAudit, formatValue } from './figures.ts'
import { drawPlot, escapeText as text } from './plots.ts'
import { plotsOfRound } from './plots-of-round.ts'
import { rowsOf } from './print.ts'
import type { K6Report, ReportedRound, ReportedRun } from './types.ts'

const STYLE = `
:root{color-scheme:light dark;--text:#24292f;--quiet:#57606a;--ground:#fff;--line:#d8dee4;--good:#1a7f37;--bad:#cf222e}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--quiet:#8b949e;--ground:#0d1117;--line:#30363d;--good:#3fb950;--bad:#f85149}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--ground);max-width:860px;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0 1rem}td,th{padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line);text-align:right;font-variant-numeric:tabular-nums}
td:first-child,th:first-child{text-align:left}th{color:var(--quiet);font-weight:500}.quiet{color:var(--quiet)}.good{color:var(--good)}.bad{color:var(--bad)}
svg{width:100%;height:auto;margin:.4rem 0}pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px}h2{margin-top:2rem}`

/** One file without network: a report that is read in ten years needs nothing but itself. */
export function drawPage(report: K6Report): string {
  const { script, options, published } = report
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${text(`${script} (${options.profile})`)}</title><style>${STYLE}</style></head><body>
<h1>${text(script)} <span class="quiet">${options.profile}</span></h1>
<p>${text(published.what)}. Commit ${text(report.commit)}, ${text(report.startedAt)}, ${Math.round(report.seconds)} s in all.</p>
${drawVerdict(report)}
${drawFigures(report)}
${report.rounds.map(drawRound).join('\n')}
${drawSurroundings(report)}
${drawExtras(report)}
</body></html>
`
}

function drawVerdict({ ok, faults }: K6Report): string {
  if (ok) return '<p class="good"><b>Every threshold and every audit holds.</b></p>'
  return `<p class="bad"><b>This does not hold:</b></p><ul>${faults.map((fault) => `<li>${text(fault)}</li>`).join('')}</ul>`
}

function drawFigures(report: K6Report): string {
  const { elsewhere, hardware } = report.published
  const on = hardware === '' ? '' : ` (${text(hardware)}; other hardware than here)`
  return `<h2>Published elsewhere, here, by our generator, goal</h2>${drawTable(rowsOf(report))}<p class="quiet">Published: ${text(elsewhere)}${on}.</p>`
}

function drawRound(round: ReportedRound): string {
  const { name, servers, runs, audit } = round
  const title = name || `${servers} API process${servers === 1 ? '' : 'es'}`
  return [
    `<h2>${text(title)}</h2>`,
    ...plotsOfRound(runs).map(drawPlot),
    drawTable([
      ['run', 'requests/s', 'p50 ms', 'p90', 'p99', 'p99.9', 'max', 'k6 µs a request'],
      ...runs.map(describeRequests),
    ]),
    drawTable([['cores in use', ...coresOf(runs)], ...runs.map((run) => describeCores(run, coresOf(runs)))]),
    drawTable([
      ['memory, second half', 'mean MiB', 'max MiB', 'MiB/min', 'grew by'],
      ...runs.flatMap(describeMemory),
    ]),
    drawFlatness(runs),
    `<p>Audit: ${text(describeAudit(round))} ${audit.ok ? '<b class="good">good</b>' : '<b class="bad">bad</b>'}</p>`,
    drawThresholds(runs),
  ].join('\n')
}

function describeRequests(run: ReportedRun): string[] {
  const { metrics, durationMs } = run.summary
  const accepted = metrics['accepted'] ?? {}
  const statistics = ['p(50)', 'p(90)', 'p(99)', 'p(99.9)', 'max'].map((name) =>
    formatValue(Number(accepted[name] ?? 0)),
  )
  const requests = Number(metrics['http_reqs']?.['count'] ?? 0)
  return [
    run.title || run.summary.script,
    formatValue(requests / (durationMs / 1000)),
    ...statistics,
    formatValue(run.k6MicrosPerRequest),
  ]
}

function coresOf(runs: readonly ReportedRun[]): string[] {
  return [...new Set(runs.flatMap(({ cpu }) => Object.keys(cpu)))]
}

function describeCores(run: ReportedRun, names: readonly string[]): string[] {
  return [run.title || 'whole run', ...names.map((name) => (run.cpu[name] ?? 0).toFixed(2))]
}

function describeMemory({ title, memory }: ReportedRun): string[][] {
  return Object.entries(memory).map(([name, { mean, max, slope, percent }]) => [
    [title, name].filter(Boolean).join(': '),
    mean.toFixed(0),
    max.toFixed(0),
    slope.toFixed(1),
    `${percent.toFixed(1)} %`,
  ])
}

function drawFlatness(runs: readonly ReportedRun[]): string {
  const rows = runs.flatMap(({ title, flatness }) =>
    Object.entries(flatness).map(([scenario, flat]) => [
      [title, scenario].filter(Boolean).join(': '),
      String(flat.windows),
      `${flat.variationPercent.toFixed(1)} %`,
      `${flat.growthPercent.toFixed(1)} %`,
      `${flat.worstPercent.toFixed(0)} %`,
    ]),
  )
  if (rows.length === 0) return ''
  return drawTable([['records/s, by period', 'periods', 'variation', 'grew by', 'worst of median'], ...rows])
}

function drawThresholds(runs: readonly ReportedRun[]): string {
  const rows = runs.flatMap(({ title, summary }) =>
    summary.thresholds
      .filter(({ expression }) => !/>=0$/.test(expression))
      .map(({ metric, expression, ok }) => [
        `${title} ${metric}`.trim(),
        expression,
        ok ? 'holds' : 'BROKEN',
      ]),
  )
  return drawTable([['threshold', '', ''], ...rows])
}

function drawSurroundings(report: K6Report): string {
  const { machine, fsync, commit } = report.preflight
  const settings = Object.entries(report.postgresSettings).map(([name, value]) => `${name}=${value}`)
  const ms = (ns: number) => `${(ns / 1e6).toFixed(2)} ms`
  return `<h2>Where</h2>${drawTable([
    ['machine', `${machine.cores} × ${machine.cpu}, ${machine.memoryGiB} GiB, ${machine.system}`],
    ['fdatasync, 8 KiB appends', `p50 ${ms(fsync.append.p50)}, p99 ${ms(fsync.append.p99)}`],
    ['commits one after another', `p50 ${ms(commit.p50)}, p99 ${ms(commit.p99)}`],
    ['versions', `Node ${report.node}, Postgres ${report.postgres}, ${report.k6}`],
    ['Postgres', settings.join(' ')],
  ])}<p class="quiet">Load generator, API, worker and Postgres share this machine.</p>`
}

function drawExtras({ extras }: K6Report): string {
  if (Object.keys(extras).length === 0) return ''
  return `<h2>What else was measured</h2><pre>${text(JSON.stringify(extras, null, 1))}</pre>`
}

function drawTable([head, ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${text(cell)}</${tag}>`).join('')}</tr>`
  return `<table>${line(head!, 'th')}${rows.map((row) => line(row, 'td')).join('')}</table>`
}
