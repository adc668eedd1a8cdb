import { ProofError } from '../../error.ts'
import type { JsonObject } from '../../json/json-value.ts'
import { INTEGER_MAX } from '../../limits.ts'
import { isIdentity, isShare } from '../federation-fields.ts'
import { idOf, integer, isCode, isEnvelopeKey, isHash, oneOf } from '../fields.ts'
import { BY_AGENT, BY_SYSTEM, extend } from '../predicates.ts'
import { contradiction } from './contradiction.ts'
import { OFFERED_STEPS } from './gated.ts'
import { type Follow, type KindRule, type Subjects, SYSTEM } from './rule.ts'

const PEER = { subjects: ['peer'], scope: 'peers:manage', system: false } as const
const changed = extend(BY_AGENT, { code: isCode })
const change =
  (kind: string): Follow =>
  ({ peers }, { subjects: [peer] }, { seq }) =>
    peers.change(peer, kind, seq)

/**
 * Kinds about peerings, and kinds whose entries receive an entry of another ledger. `receivedBy` marks the kinds whose
 * entries are sent to the other ledger. For the receiving kinds, ../kinds.ts adds the member `received` to the
 * predicate, and LedgerPeers processes the received entry (ledger/peers.ts).
 */
export const PEER_KINDS = {
  'peer-added': {
    ...SYSTEM,
    subjects: ['peer'],
    fields: extend(
      BY_SYSTEM,
      { tokenHash: isHash, inviter: isIdentity, invited: isIdentity },
      { counterpart: isHash },
    ),
    defines: { named: 'peer', members: ['tokenHash', 'inviter', 'invited'] },
    gives: [
      { use: 'peer', at: 'inviter.envelopeKey' },
      { use: 'peer', at: 'invited.envelopeKey' },
    ],
    receivedBy: 'entry-received',
    refuse: refuseAdded,
    follow: ({ peers, keys }, statement, entry) => peers.add(entry, statement, keys.current!),
  },
  'peer-suspended': { ...PEER, fields: changed, follow: change('peer-suspended') },
  'peer-resumed': { ...PEER, fields: changed, follow: change('peer-resumed') },
  'peer-revoked': {
    ...PEER,
    fields: changed,
    receivedBy: 'entry-received',
    follow: change('peer-revoked'),
  },
  'peer-key-rotated': {
    ...SYSTEM,
    subjects: ['peer'],
    fields: extend(BY_SYSTEM, { newKey: isEnvelopeKey }),
    gives: [{ use: 'peer', at: 'newKey' }],
    events: ['entry.received'],
  },
  'record-shared': {
    subjects: ['rec'],
    scope: 'records:write',
    system: false,
    fields: extend(BY_AGENT, { record: idOf('rec'), share: isShare }),
    receivedBy: 'entry-received',
    follow: ({ records, peers }, statement, { seq }) => {
      records.verifyShared(statement.subjects[0], statement.onBehalfOf ?? statement.actor)
      peers.share(seq, statement)
    },
  },
  'entry-received': {
    ...SYSTEM,
    subjects: ['entry'],
    fields: extend(BY_SYSTEM, { peer: idOf('peer') }),
    events: ['entry.received'],
  },
  'step-offered': {
    subjects: ['rec', 'cmp?'],
    scope: 'records:write',
    system: false,
    fields: extend(
      BY_AGENT,
      {
        peer: idOf('peer'),
        record: idOf('rec'),
        step: oneOf(...OFFERED_STEPS),
        version: integer(2, INTEGER_MAX),
        previous: isHash,
      },
      { completion: idOf('cmp') },
    ),
    documents: ['evidence'],
    receivedBy: 'offer-refused',
    refuse: refuseOffer,
    follow: ({ peers, records }, statement, entry) => {
      peers.offer(entry, statement)
      const [, completion] = statement.subjects
      if (completion) records.addCompletion(completion, entry.seq)
    },
  },
  'offer-refused': {
    ...SYSTEM,
    subjects: ['entry'],
    fields: extend(BY_SYSTEM, { peer: idOf('peer'), record: idOf('rec'), code: isCode }),
    receivedBy: 'entry-received',
    events: ['entry.received'],
  },
} as const satisfies Readonly<Record<string, KindRule>>

/**
 * Throws if the members of a `peer-added` contradict each other. Each side signs both identities. The invited side also
 * names the inviter's entry.
 */
function refuseAdded({ ledger, inviter, invited, counterpart }: JsonObject): void {
  const [from, to] = [inviter, invited].map((identity) => (identity as JsonObject)['ledger'])
  if (from === to) throw contradiction(`${from} invites itself`)
  if (ledger !== from && ledger !== to) throw contradiction(`the peering is between ${from} and ${to}`)
  if ((ledger === to) !== (counterpart !== undefined))
    throw contradiction('the invited ledger must name its counterpart, the inviter must not')
}

function refuseOffer({ step, completion }: JsonObject, subjects: Subjects): void {
  const isCompletion = step === 'completion-submitted'
  if (isCompletion !== (subjects.length === 2))
    throw new ProofError('statement_subject', `an offered ${step} cannot have ${subjects.length} subjects`)
  if (isCompletion !== (completion !== undefined))
    throw contradiction(`an offered ${step} has a wrong completion`)
}
