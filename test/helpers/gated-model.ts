import type { AgentName, StepName } from './gated-app.ts'

/*
 * Smallest possible model of the lifecycle (docs/reference/lifecycle.md). It decides the answer to each request. The
 * model shares nothing with src/proof/statement/kinds.ts, so that an error there is not repeated here.
 */

export type ModelRecord = {
  readonly state: string
  readonly version: number
  readonly creator: AgentName
  readonly principal: AgentName
  readonly performer: AgentName | null
  readonly gate: 'principal' | 'auto'
  readonly maxRevisions: number
  readonly revisions: number
  readonly passes: boolean
}

export type ModelRequest = {
  readonly step: StepName
  readonly by: AgentName
  readonly onBehalfOf: AgentName | null
  readonly ifVersion: number | null
  /** True for a completion that passes the rules, and for a verdict that accepts. */
  readonly good: boolean
}

export type ModelRefusal = {
  readonly status: number
  readonly code: string
  readonly members: Readonly<Record<string, unknown>>
}
export type ModelAnswer = { readonly next: ModelRecord } | ModelRefusal

const KIND: Record<StepName, string> = {
  activate: 'record-activated',
  completions: 'completion-submitted',
  verdict: 'verdict-rendered',
  revision: 'revision-requested',
  cancel: 'record-cancelled',
  overturn: 'verdict-overturned',
}
const NEXT: Record<string, string[]> = {
  CREATED: ['record-activated', 'record-cancelled'],
  ACTIVE: ['completion-submitted', 'record-cancelled'],
  SUBMITTED: ['completion-verified'],
  VERIFIED: ['verdict-rendered', 'revision-requested'],
  DISCREPANT: ['verdict-rendered', 'revision-requested'],
  REJECTED: ['verdict-overturned'],
}
const READS_ALL: AgentName[] = ['principal', 'gateway', 'overturner']
const ACTS_FOR_OTHERS: AgentName[] = ['principal', 'gateway']
const OVERTURNS: AgentName[] = ['principal', 'overturner']

export function nextEventsOf({ state, revisions, maxRevisions }: ModelRecord): string[] {
  const next = NEXT[state] ?? []
  return revisions < maxRevisions ? next : next.filter((kind) => kind !== 'revision-requested')
}

export function answer(record: ModelRecord, request: ModelRequest): ModelAnswer {
  const { step, by, onBehalfOf, ifVersion, good } = request
  const { state, version, performer, principal } = record
  const party = onBehalfOf ?? by
  const needed = step === 'overturn' ? OVERTURNS.includes(by) : by !== 'overturner'
  if (!needed) return refused(403, 'forbidden')
  if (onBehalfOf && !ACTS_FOR_OTHERS.includes(by)) return refused(403, 'forbidden')
  const isOpen = performer === null
  const parties: (AgentName | null)[] = [record.creator, principal, performer]
  if (!READS_ALL.includes(by) && !isOpen && !parties.includes(by)) return refused(404, 'not_found')

  const role = roleOf(record, step)
  const entitled = {
    principal: party === principal,
    performer: party === performer || (step === 'activate' && isOpen && party !== principal),
    'other than the performer': party !== performer,
    worker: false,
  }[role]
  if (!entitled) return refused(403, 'not_entitled', { role })
  if (by === performer && (step === 'verdict' || step === 'overturn'))
    return refused(403, 'not_entitled', { role: 'other than the performer' })
  if (ifVersion !== null && ifVersion !== version) return refused(412, 'version_mismatch', { state, version })
  const nextEvents = nextEventsOf(record)
  if (!nextEvents.includes(KIND[step])) return refused(409, 'state_conflict', { state, version, nextEvents })

  const next = { ...record, version: version + 1 }
  switch (step) {
    case 'activate':
      return { next: { ...next, state: 'ACTIVE', performer: party } }
    case 'completions':
      return { next: { ...next, state: 'SUBMITTED', passes: good } }
    case 'verdict':
      return { next: { ...next, state: good ? 'ACCEPTED' : 'REJECTED' } }
    case 'revision':
      return { next: { ...next, state: 'ACTIVE', revisions: record.revisions + 1 } }
    case 'cancel':
      return { next: { ...next, state: 'CANCELLED' } }
    case 'overturn':
      return { next: { ...next, state: 'ACCEPTED' } }
  }
}

export function verified(record: ModelRecord): ModelRecord[] {
  if (record.state !== 'SUBMITTED') return []
  const { version, passes, gate } = record
  const found = { ...record, version: version + 1, state: passes ? 'VERIFIED' : 'DISCREPANT' }
  if (gate === 'principal') return [found]
  return [found, { ...found, version: version + 2, state: passes ? 'ACCEPTED' : 'REJECTED' }]
}

function roleOf({ gate }: ModelRecord, step: StepName) {
  if (step === 'verdict' && gate === 'auto') return 'worker'
  if (step === 'overturn') return 'other than the performer'
  return step === 'activate' || step === 'completions' ? 'performer' : 'principal'
}

function refused(status: number, code: string, members: Record<string, unknown> = {}): ModelRefusal {
  return { status, code, members }
}
