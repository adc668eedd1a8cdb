import { ProofError } from '../../error.ts'
import type { JsonObject } from '../../json/json-value.ts'
import { isOrigin } from '../../names.ts'
import { isEnvelopeKey, isHash, isNoteKey, isText, isTypeName, mapOf, objectOf } from '../fields.ts'
import { ALWAYS, BY_SYSTEM, extend } from '../predicates.ts'
import { type KindRule, SYSTEM } from './rule.ts'

export const LEDGER_KINDS = {
  'ledger-created': {
    ...SYSTEM,
    subjects: ['led'],
    fields: extend(BY_SYSTEM, {
      definition: objectOf({
        name: isText,
        issuer: isText,
        origin: isText,
        envelopeKey: isEnvelopeKey,
        noteKey: isNoteKey,
        types: mapOf(isTypeName, isHash),
      }),
    }),
    defines: { member: 'definition' },
    gives: [{ use: 'envelope', at: 'definition.envelopeKey' }],
    travelsWith: 'all',
    refuse: refuseForeignOrigin,
  },
  'server-key-rotated': {
    ...SYSTEM,
    // Only the worker may make this entry. Otherwise somebody with a server's stolen database login could introduce
    // their own key for all later entries.
    workerOnly: true,
    subjects: ['led'],
    fields: extend(ALWAYS, { newKey: isEnvelopeKey }),
    gives: [{ use: 'envelope', at: 'newKey' }],
    receivedBy: 'peer-key-rotated',
    travelsWith: 'signer',
    follow: ({ keys, agentKeys }, { predicate }, { seq }) => {
      const { kid } = predicate['newKey'] as { kid: string }
      agentKeys.refuse(kid)
      keys.rotate(kid, seq)
    },
  },
} as const satisfies Readonly<Record<string, KindRule>>

/** Throws if the origin does not contain the ledger's id. The origin is the name of the note key. */
function refuseForeignOrigin(predicate: JsonObject): void {
  const origin = (predicate['definition'] as JsonObject)['origin'] as string
  if (!isOrigin(origin, predicate['ledger'] as string)) {
    throw new ProofError(
      'statement_predicate',
      `the origin must be <host>/${predicate['ledger']}, not ${origin}`,
    )
  }
}
