import type { JsonObject, JsonValue } from '../json/json-value.ts'
import { type Check, described, schemaOf } from './check-schemas.ts'
import {
  idOf,
  integer,
  isEnvelopeKey,
  isHash,
  isText,
  listOf,
  matching,
  nullOr,
  objectOf,
  oneOf,
} from './fields.ts'
import { ENTRY_KINDS } from './kinds.ts'
import { parseRemoteAgent } from './remote-agents.ts'

/* Formats of what ledgers say of each other (docs/formats/federation.md). */

const COUNT_MAX = Number.MAX_SAFE_INTEGER
const SHARE_COUNT_MAX = 8

const ID = '[0-7][0-9a-hjkmnp-tv-z]{25}'

/** An agent of another ledger, `led_…/agt_…`. */
export const isRemoteAgent = described(
  () => ({ type: 'string', pattern: `^led_${ID}/agt_${ID}$` }),
  (value) => typeof value === 'string' && parseRemoteAgent(value) !== null,
)

export function eitherOf(one: Check, other: Check): Check {
  return described(
    () => ({ anyOf: [schemaOf(one), schemaOf(other)] }),
    (value) => one(value) || other(value),
  )
}

/** The deployment that calls it decides which addresses are allowed. */
const isUrl = matching(/^https?:\/\/[!-~]{1,2040}$/)

const isIdentityObject = objectOf({
  ledger: idOf('led'),
  url: isUrl,
  origin: isText,
  genesis: isHash,
  envelopeKey: isEnvelopeKey,
})

/** Identity of a peer. The origin is that of its checkpoints. */
export const isIdentity = described(
  () => ({ ...schemaOf(isIdentityObject), description: 'origin: <host>/<ledger>, without spaces or +' }),
  (value) => isIdentityObject(value) && isOriginOf(value as JsonObject),
)

function isOriginOf({ origin, ledger }: JsonObject): boolean {
  return !/[\s+]/.test(origin as string) && (origin as string).endsWith(`/${ledger}`)
}

/** Received entry; parseStatement verifies whether its members fit each other. */
export const isReceived = objectOf({
  ledger: idOf('led'),
  seq: integer(0, COUNT_MAX),
  leaf: isHash,
  kind: oneOf(...Object.keys(ENTRY_KINDS)),
  record: nullOr(idOf('rec')),
  version: nullOr(integer(1, COUNT_MAX)),
})

/** The offer that a step takes. */
export const isTakenOffer = objectOf({
  peer: idOf('peer'),
  ledger: idOf('led'),
  seq: integer(0, COUNT_MAX),
  leaf: isHash,
})

const isShareList = listOf(
  objectOf({ peer: idOf('peer'), documents: oneOf('whole', 'digests') }),
  SHARE_COUNT_MAX,
)

/** Peers that a record is shared with: sorted, each once. */
export const isShare = described(
  () => ({ ...schemaOf(isShareList), minItems: 1, description: 'sorted by peer, each once' }),
  (value) => isShareList(value) && (value as JsonValue[]).length > 0 && isSortedByPeer(value as JsonObject[]),
)

function isSortedByPeer(share: readonly JsonObject[]): boolean {
  return share.every(({ peer }, i) => i === 0 || (share[i - 1]!['peer'] as string) < (peer as string))
}
