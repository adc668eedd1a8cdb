import type { JsonObject, JsonValue } from '../json/json-value.ts'
import { INTEGER_MAX, SHARES_MAX, URL_BYTES_MAX } from '../limits.ts'
import { HTTP_URL, isHttpUrl, isOrigin } from '../names.ts'
import { type Check, schemaOf, withSchema } from './check-schemas.ts'
import { idOf, integer, isEnvelopeKey, isHash, isString, listOf, nullOr, objectOf, oneOf } from './fields.ts'
import { parseRemoteAgent } from './remote-agents.ts'

/* Formats of members by which ledgers refer to each other (docs/formats/federation.md). */

const ID = '[0-7][0-9a-hjkmnp-tv-z]{25}'

/** Accepts the name of an agent of another ledger, `led_…/agt_…`. */
export const isRemoteAgent = withSchema(
  () => ({ type: 'string', pattern: `^led_${ID}/agt_${ID}$` }),
  (value) => typeof value === 'string' && parseRemoteAgent(value) !== null,
)

export function eitherOf(one: Check, other: Check): Check {
  return withSchema(
    () => ({ anyOf: [schemaOf(one), schemaOf(other)] }),
    (value) => one(value) || other(value),
  )
}

/** Accepts a URL by its form only. Each deployment decides for itself which addresses it calls. */
const isUrl = withSchema(
  () => ({ type: 'string', pattern: HTTP_URL.source, maxLength: URL_BYTES_MAX }),
  (value) => typeof value === 'string' && isHttpUrl(value),
)

const isIdentityObject = objectOf({
  ledger: idOf('led'),
  url: isUrl,
  origin: isString,
  genesis: isHash,
  envelopeKey: isEnvelopeKey,
})

/** Accepts the identity of a peer. `origin`: origin of the peer's checkpoints. */
export const isIdentity = withSchema(
  () => ({ ...schemaOf(isIdentityObject), description: 'origin: <host>/<ledger>, without white space or +' }),
  (value) => isIdentityObject(value) && isOriginOf(value as JsonObject),
)

function isOriginOf({ origin, ledger }: JsonObject): boolean {
  return isOrigin(origin as string, ledger as string)
}

/**
 * Returns a check of the member that describes a received entry. `kinds`: kinds that this entry may have.
 * parseStatement verifies that the members of the description agree with each other.
 */
export function receivedOfKinds(kinds: readonly string[]): Check {
  return objectOf({
    ledger: idOf('led'),
    seq: integer(0, INTEGER_MAX),
    leaf: isHash,
    kind: oneOf(...kinds),
    record: nullOr(idOf('rec')),
    version: nullOr(integer(1, INTEGER_MAX)),
  })
}

export const isTakenOffer = objectOf({
  peer: idOf('peer'),
  ledger: idOf('led'),
  seq: integer(0, INTEGER_MAX),
  leaf: isHash,
})

const isShareList = listOf(objectOf({ peer: idOf('peer'), documents: oneOf('whole', 'digests') }), SHARES_MAX)

/** Accepts the peers with which a record is shared. They must be sorted and without duplicates. */
export const isShare = withSchema(
  () => ({ ...schemaOf(isShareList), minItems: 1, description: 'sorted by peer, each once' }),
  (value) => isShareList(value) && (value as JsonValue[]).length > 0 && isSortedByPeer(value as JsonObject[]),
)

function isSortedByPeer(share: readonly JsonObject[]): boolean {
  return share.every(({ peer }, i) => i === 0 || (share[i - 1]!['peer'] as string) < (peer as string))
}
