/**
 * Filter of records. It selects the records that entries `from` to `to` (both inclusive) made and that match every
 * given member.
 *
 * - `agent`: the agent that made the record, or on whose behalf it was made, or that performs it.
 * - `trace`: a trace id of 32 hex digits.
 */
export type BundleFilter = {
  readonly from: number
  readonly to: number
  readonly type?: string | undefined
  readonly agent?: string | undefined
  readonly trace?: string | undefined
}

export type Filtered = {
  readonly type: string
  readonly agents: readonly (string | null | undefined)[]
  readonly traceparent: string | undefined
}

export function isFiltered(
  { type, agent, trace }: Omit<BundleFilter, 'from' | 'to'>,
  record: Filtered,
): boolean {
  return (
    (type === undefined || type === record.type) &&
    (agent === undefined || record.agents.includes(agent)) &&
    (trace === undefined || record.traceparent?.slice(3, 35) === trace)
  )
}
