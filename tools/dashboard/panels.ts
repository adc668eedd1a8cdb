export type Panel = {
  readonly type?: 'stat'
  readonly title: string
  /** Meaning of the panel, and its normal values. */
  readonly description: string
  /** https://grafana.com/docs/grafana/latest/panels-visualizations/configure-standard-options/ */
  readonly unit: 'short' | 's' | 'bytes' | 'percentunit' | 'reqps' | 'cps' | 'dateTimeFromNow'
  readonly min?: number
  readonly max?: number
  readonly warnAbove?: number
  /** The page of the alert that is about it. */
  readonly runbook?: string
  readonly queries: readonly (readonly [expr: string, legend: string])[]
}

export type Row = { readonly title: string; readonly panels: readonly Panel[] }
