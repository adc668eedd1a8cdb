/*
 * State machines, with the entries that cause their transitions. Verifiers refuse every step that is not listed here.
 * For records, the database refuses such steps too, because record_transitions is generated from this table.
 */

/**
 * One transition. `from` is null for the first entry. If several transitions have the same kind and the same `from`,
 * `outcome` decides, for example the statement's `verdict`.
 */
export type StateTransition = {
  readonly from: string | null
  readonly kind: string
  readonly outcome?: string
  readonly to: string
}

export type Machine = { readonly states: readonly string[]; readonly ways: readonly StateTransition[] }

const RECORD = {
  states: [
    'RECORDED',
    'CREATED',
    'ACTIVE',
    'SUBMITTED',
    'VERIFIED',
    'DISCREPANT',
    'ACCEPTED',
    'REJECTED',
    'CANCELLED',
    'EXPIRED',
  ],
  ways: [
    { from: null, kind: 'record-notarized', to: 'RECORDED' },
    { from: null, kind: 'record-created', to: 'CREATED' },
    { from: 'CREATED', kind: 'record-activated', to: 'ACTIVE' },
    { from: 'ACTIVE', kind: 'completion-submitted', to: 'SUBMITTED' },
    { from: 'SUBMITTED', kind: 'completion-verified', outcome: 'pass', to: 'VERIFIED' },
    { from: 'SUBMITTED', kind: 'completion-verified', outcome: 'fail', to: 'DISCREPANT' },
    { from: 'VERIFIED', kind: 'verdict-rendered', outcome: 'accept', to: 'ACCEPTED' },
    { from: 'DISCREPANT', kind: 'verdict-rendered', outcome: 'accept', to: 'ACCEPTED' },
    { from: 'VERIFIED', kind: 'verdict-rendered', outcome: 'reject', to: 'REJECTED' },
    { from: 'DISCREPANT', kind: 'verdict-rendered', outcome: 'reject', to: 'REJECTED' },
    { from: 'VERIFIED', kind: 'revision-requested', to: 'ACTIVE' },
    { from: 'DISCREPANT', kind: 'revision-requested', to: 'ACTIVE' },
    { from: 'CREATED', kind: 'record-cancelled', to: 'CANCELLED' },
    { from: 'ACTIVE', kind: 'record-cancelled', to: 'CANCELLED' },
    { from: 'CREATED', kind: 'record-expired', to: 'EXPIRED' },
    { from: 'ACTIVE', kind: 'record-expired', to: 'EXPIRED' },
    { from: 'REJECTED', kind: 'verdict-overturned', to: 'ACCEPTED' },
  ],
} as const satisfies Machine

const PEERING = {
  states: ['pending', 'active', 'suspended', 'revoked'],
  ways: [
    { from: null, kind: 'peer-added', outcome: 'inviter', to: 'pending' },
    { from: null, kind: 'peer-added', outcome: 'invited', to: 'active' },
    // The inviter receives the invited side's `peer-added`.
    { from: 'pending', kind: 'peer-added', outcome: 'answer', to: 'active' },
    { from: 'active', kind: 'peer-suspended', to: 'suspended' },
    { from: 'suspended', kind: 'peer-resumed', to: 'active' },
    // Either side may revoke the peering.
    { from: 'pending', kind: 'peer-revoked', to: 'revoked' },
    { from: 'active', kind: 'peer-revoked', to: 'revoked' },
    { from: 'suspended', kind: 'peer-revoked', to: 'revoked' },
  ],
} as const satisfies Machine

export const MACHINES = { record: RECORD, peering: PEERING } as const satisfies Record<string, Machine>

export type MachineName = keyof typeof MACHINES
export type StateOf<Name extends MachineName> = (typeof MACHINES)[Name]['states'][number]

/** Returns the state after a step. Returns null if the machine does not allow the step. */
export function stateAfter<Name extends MachineName>(
  name: Name,
  from: string | null,
  kind: string,
  outcome?: string,
): StateOf<Name> | null {
  const ways: readonly StateTransition[] = MACHINES[name].ways
  const found = ways.find((way) => way.from === from && way.kind === kind && way.outcome === outcome)
  return (found?.to ?? null) as StateOf<Name> | null
}

/** Returns the states in which a step of this kind and outcome is allowed. */
export function statesBefore(name: MachineName, kind: string, outcome?: string): readonly (string | null)[] {
  const ways: readonly StateTransition[] = MACHINES[name].ways
  return ways.filter((way) => way.kind === kind && way.outcome === outcome).map(({ from }) => from)
}
