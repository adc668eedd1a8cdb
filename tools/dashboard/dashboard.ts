import type { Panel } from './panels.ts'
import { PROCESS_ROWS, SERVER_ROWS } from './server-panels.ts'
import { WORKER_ROWS } from './worker-panels.ts'

/** Grafana 11 and newer. */
const SCHEMA_VERSION = 39
const COLUMNS = 24
/** Placeholder for which the chart puts the address of docs/runbooks; a person who imports the file types it in. */
const RUNBOOKS_PLACEHOLDER = 'RUNBOOK_BASE_URL'
const DATASOURCE = { type: 'prometheus', uid: `\${datasource}` }

/** The text of helm/tallystick/files/dashboard.json: a panel a line, so that a changed panel is a changed line. */
export function dashboardFile(): string {
  const dashboard = {
    uid: 'tallystick',
    title: 'Tallystick',
    description: 'An accountability ledger: what servers and workers count of themselves (docs/metrics.md).',
    tags: ['tallystick'],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: '',
    annotations: { list: [] },
    links: [],
    templating: { list: variables() },
  }
  const panels = layOut().map((panel) => JSON.stringify(panel))
  const head = JSON.stringify(dashboard, null, 2).replace(/\n\}$/, '')
  return `${head},\n  "panels": [\n    ${panels.join(',\n    ')}\n  ]\n}\n`
}

function variables(): unknown[] {
  const known = 'tallystick_build_info{namespace=~"$namespace", job=~"$job"}'
  return [
    { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', hide: 0 },
    labelVariable('namespace', 'Namespace', 'label_values(tallystick_build_info, namespace)'),
    labelVariable('job', 'Job', 'label_values(tallystick_build_info{namespace=~"$namespace"}, job)'),
    labelVariable('instance', 'Process', `label_values(${known}, instance)`),
    {
      name: 'runbooks',
      label: 'Address of the runbooks',
      type: 'textbox',
      hide: 2,
      query: RUNBOOKS_PLACEHOLDER,
      current: { text: RUNBOOKS_PLACEHOLDER, value: RUNBOOKS_PLACEHOLDER },
      options: [{ selected: true, text: RUNBOOKS_PLACEHOLDER, value: RUNBOOKS_PLACEHOLDER }],
    },
  ]
}

/** All by default, and that matches what lacks the label too: without Kubernetes there is no namespace. */
function labelVariable(name: string, label: string, query: string): unknown {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: { selected: true, text: ['All'], value: ['$__all'] },
    hide: 0,
  }
}

/** Each row begins on a line of its own; its panels follow from left to right, as many as there is room for. */
function layOut(): unknown[] {
  let id = 0
  let y = 0
  return [...SERVER_ROWS, ...WORKER_ROWS, ...PROCESS_ROWS].flatMap(({ title, panels }) => {
    const gridPos = { x: 0, y: y++, w: COLUMNS, h: 1 }
    const row = { id: ++id, type: 'row', title, collapsed: false, panels: [], gridPos }
    const [w, h] = panels[0]!.type === 'stat' ? [4, 4] : [panels.length === 4 ? 6 : 8, 8]
    const perLine = COLUMNS / w
    const made = panels.map((panel, i) =>
      makePanel(++id, panel, { x: (i % perLine) * w, y: y + Math.floor(i / perLine) * h, w, h }),
    )
    y += Math.ceil(panels.length / perLine) * h
    return [row, ...made]
  })
}

function makePanel(id: number, panel: Panel, gridPos: unknown): unknown {
  const { type = 'timeseries', title, description, unit, min = 0, max, warnAbove, runbook, queries } = panel
  const steps = [
    { color: 'green', value: null },
    ...(warnAbove === undefined ? [] : [{ color: 'red', value: warnAbove }]),
  ]
  return {
    id,
    type,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    links: runbook
      ? [{ title: `Runbook: ${runbook}`, url: `\${runbooks}/${runbook}`, targetBlank: true }]
      : [],
    fieldConfig: {
      defaults: {
        unit,
        min,
        ...(max === undefined ? {} : { max }),
        thresholds: { mode: 'absolute', steps },
        ...(type === 'timeseries' ? { custom: timeSeriesStyle(warnAbove !== undefined) } : {}),
      },
      overrides: [],
    },
    options: type === 'stat' ? STAT_OPTIONS : TIME_SERIES_OPTIONS,
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat,
      range: type === 'timeseries',
      instant: type === 'stat',
    })),
  }
}

function timeSeriesStyle(hasThreshold: boolean): unknown {
  return {
    drawStyle: 'line',
    lineWidth: 1,
    fillOpacity: 8,
    showPoints: 'never',
    spanNulls: false,
    thresholdsStyle: { mode: hasThreshold ? 'dashed' : 'off' },
  }
}

const STAT_OPTIONS = {
  colorMode: 'value',
  graphMode: 'none',
  justifyMode: 'auto',
  reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  textMode: 'auto',
}
const TIME_SERIES_OPTIONS = {
  legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
  tooltip: { mode: 'multi', sort: 'desc' },
}
