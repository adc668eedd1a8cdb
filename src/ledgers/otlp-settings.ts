/** Which spans and logs an API key takes, and what of them is kept (docs/otlp.md). */
export type OtlpSettings = {
  /** Only spans and logs of agents, or everything. */
  readonly take: 'agents' | 'all'
  /** Attributes with content are kept by their digest, or as they are. */
  readonly content: 'digest' | 'keep'
  /** The exporter is told of the rest, or it is not. */
  readonly rest: 'reject' | 'drop'
}

export const OTLP_SETTINGS_DEFAULT: OtlpSettings = { take: 'agents', content: 'digest', rest: 'reject' }
