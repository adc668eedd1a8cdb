import type { EntryKind } from '../statement/kinds.ts'

/** Authors that may make an entry of a kind: a key with the scope, the server itself (`system`), or either. */
type Entitled = { readonly scope: string | null; readonly system: boolean }

const SYSTEM = { scope: null, system: true } as const
const RECORDS = { scope: 'records:write', system: false } as const
const PEERS = { scope: 'peers:manage', system: false } as const

/**
 * The scope that each kind of entry needs. Routes let a key in by it, and verifiers hold each entry's key to it: a key that a thief
 * of the API's process has at hand does no more there than it could do over HTTP.
 *
 * `system` stands for no key, so it may do only what no agent of a ledger does, and what its operator does: the first agent, keys
 * for those who have lost theirs, the judgement of an `auto` gate (gated-record.ts).
 */
const ENTITLED = {
  'ledger-created': SYSTEM,
  'server-key-rotated': SYSTEM,
  'agent-registered': { scope: 'agents:manage', system: true },
  'agent-disabled': { scope: 'agents:manage', system: false },
  // An agent does it for its own keys with records:write too (actors.ts).
  'agent-key-registered': { scope: 'agents:manage', system: false },
  'agent-key-revoked': { scope: 'agents:manage', system: false },
  'key-created': { scope: 'keys:manage', system: true },
  'key-revoked': { scope: 'keys:manage', system: false },
  'type-registered': { scope: 'types:write', system: false },
  'record-notarized': RECORDS,
  'batch-notarized': RECORDS,
  'record-created': RECORDS,
  'record-activated': RECORDS,
  'completion-submitted': RECORDS,
  'completion-verified': SYSTEM,
  'verdict-rendered': { scope: 'records:write', system: true },
  'verdict-overturned': { scope: 'verdicts:overturn', system: false },
  'revision-requested': RECORDS,
  'record-cancelled': RECORDS,
  'record-expired': SYSTEM,
  // The server erases by a retention rule, which the entry names.
  'payload-erased': { scope: 'payloads:erase', system: true },
  'ledger-restored': SYSTEM,
  'peer-added': SYSTEM,
  'peer-suspended': PEERS,
  'peer-resumed': PEERS,
  'peer-revoked': PEERS,
  'peer-key-rotated': SYSTEM,
  'record-shared': RECORDS,
  'entry-received': SYSTEM,
  'step-offered': RECORDS,
  'offer-refused': SYSTEM,
  'registration-policy-set': { scope: 'policies:write', system: false },
  'statement-registered': { scope: 'statements:write', system: false },
  'retention-set': { scope: 'retention:manage', system: false },
  'hold-set': { scope: 'retention:manage', system: false },
  'hold-lifted': { scope: 'retention:manage', system: false },
  'subject-erased': { scope: 'payloads:erase', system: false },
  'export-made': { scope: 'audit:read', system: false },
} as const satisfies Record<EntryKind, Entitled>

export const ENTRY_ENTITLED: Readonly<Record<EntryKind, Entitled>> = ENTITLED

/** A kind that keys make, and not the server alone. */
type KindOfKeys = {
  [Kind in EntryKind]: (typeof ENTITLED)[Kind]['scope'] extends string ? Kind : never
}[EntryKind]

/** The scope by which a key makes an entry of the kind. */
export function scopeOfEntry<Kind extends KindOfKeys>(kind: Kind): (typeof ENTITLED)[Kind]['scope'] {
  return ENTITLED[kind].scope
}
