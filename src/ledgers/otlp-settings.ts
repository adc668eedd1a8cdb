/** Which spans and logs an API key accepts, and what is stored of them (docs/integrations/otlp.md). */
export type OtlpSettings = {
  /** Only spans and logs of agents, or all. */
  readonly take: 'agents' | 'all'
  /** Attributes with content are stored as digests, or unchanged. */
  readonly content: 'digest' | 'keep'
  /** Whether the exporter is told about the spans and logs that were not accepted. */
  readonly rest: 'reject' | 'drop'
}

export const OTLP_SETTINGS_DEFAULT: OtlpSettings = { take: 'agents', content: 'digest', rest: 'reject' }
