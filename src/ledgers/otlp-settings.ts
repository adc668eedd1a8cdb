/**
 * Settings for spans and logs of OpenTelemetry: which of them an API key accepts, and what is stored
 * (docs/integrations/otlp.md).
 */
export type OtlpSettings = {
  /** Which spans and logs are accepted: only those of agents, or all. */
  readonly take: 'agents' | 'all'
  /** How attributes with content are stored: as digests, or unchanged. */
  readonly content: 'digest' | 'keep'
  /**
   * What happens to spans and logs that are not accepted: the exporter is informed (`reject`), or they are left out
   * silently (`drop`).
   */
  readonly rest: 'reject' | 'drop'
}

export const OTLP_SETTINGS_DEFAULT: OtlpSettings = { take: 'agents', content: 'digest', rest: 'reject' }
