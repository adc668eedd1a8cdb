import { idOf, isEnvelopeKey, isHash, isSignature, isText, objectOf, oneOf } from '../fields.ts'
import { ALWAYS, BY_AGENT, extend } from '../predicates.ts'
import type { KindRule } from './rule.ts'

const AGENT = {
  subjects: ['agt'],
  scope: 'agents:manage',
  fields: extend(ALWAYS, { agent: idOf('agt'), name: isText }),
  defines: { members: ['agent', 'name'] },
} as const

export const AGENT_KINDS = {
  // `system` may make this entry too, because the operator registers a ledger's first agent.
  'agent-registered': {
    ...AGENT,
    system: true,
    follow: ({ actors }, { subjects: [{ name, sha256 }] }) => actors.registerAgent(name, sha256),
  },
  'agent-disabled': {
    ...AGENT,
    system: false,
    follow: ({ actors }, { subjects: [{ name, sha256 }] }, { atMs }) =>
      actors.disableAgent(name, sha256, atMs),
  },
  // The scope `records:write` is enough if an agent registers a further key of its own (ledger/actors.ts).
  'agent-key-registered': {
    subjects: ['agt'],
    scope: 'agents:manage',
    system: false,
    fields: extend(
      BY_AGENT,
      { agent: idOf('agt'), newKey: isEnvelopeKey, required: oneOf(true, false), proof: isSignature },
      { endorsement: objectOf({ kid: isHash, signature: isSignature }) },
    ),
    gives: [{ use: 'agent', at: 'newKey' }],
    travelsWith: 'signer',
    follow: ({ actors, agentKeys, keys }, { subjects: [{ name, sha256 }], predicate }, entry) => {
      actors.verifyRegistered(name, sha256)
      keys.refuse((predicate['newKey'] as { kid: string }).kid)
      agentKeys.register(entry, predicate)
    },
  },
  'agent-key-revoked': {
    subjects: ['agt'],
    scope: 'agents:manage',
    system: false,
    fields: extend(BY_AGENT, { agent: idOf('agt'), kid: isHash }),
    ends: 'agent',
    travelsWith: 'signer',
    follow: ({ actors, agentKeys }, { subjects: [{ name, sha256 }], predicate }, { seq }) => {
      actors.verifyRegistered(name, sha256)
      agentKeys.revoke(predicate, seq)
    },
  },
} as const satisfies Readonly<Record<string, KindRule>>
