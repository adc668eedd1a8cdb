/** Which spans and logs an API key accepts, and what is stored of them (docs/integrations/otlp.md). */
export type OtlpSettings = {
  /** Which spans and logs are accepted: only those of agents, or all. */
  readonly take: 'agents' | 'all'
  /** How attributes with content are stored: as digests, or unchanged. */
  readonly content: 'digest' | 'keep'
  /**
   * Whether spans and logs that were not accepted are reported to the exporter (`reject`) or silently left out
   * (`drop`).
   */
  readonly rest: 'reject' | 'drop'
}

export const OTLP_SETTINGS_DEFAULT: OtlpSettings = { take: 'agents', content: 'digest', rest: 'reject' }
