import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const PROJECT_DIR = resolve(import.meta.dirname, '../../..')

export type DashboardPanel = {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly links?: readonly { readonly url: string; readonly title: string }[]
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

export type Dashboard = {
  readonly schemaVersion: number
  readonly panels: readonly DashboardPanel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}

export function readDashboard(): Dashboard {
  return JSON.parse(readFileSync(join(PROJECT_DIR, 'helm/tallystick/files/dashboard.json'), 'utf8'))
}

/** Lists the dashboard's expressions as Grafana sends them. */
export function listExpressions(): string[] {
  return readDashboard()
    .panels.flatMap(({ targets = [] }) => targets)
    .map(({ expr }) => expr.replaceAll('$__rate_interval', '5m').replaceAll(/"\$\w+"/g, '".*"'))
}
