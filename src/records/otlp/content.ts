import { type ContentDigest, digestOf } from '../../../sdk/actions/content.ts'
import { sha256Hex } from '../../signing/sha256.ts'
import { OTLP_METADATA_CHARS_MAX } from './limits.ts'
import { newObject } from './messages.ts'
import { CODING_AGENT_METADATA, METADATA } from './metadata-names.ts'

type Content = {
  readonly attributes?: Record<string, unknown> | undefined
  readonly digests?: Record<string, ContentDigest> | undefined
}

/**
 * Splits attributes. With the setting `keep`, all attributes are stored unchanged. Otherwise only known metadata is
 * stored unchanged, and all other attributes become digests. The function knows names of metadata, not names of
 * content, because the next release of a framework could add content under a new name. `ofCodingAgent`: true if the
 * event is one of a coding agent. Then some more names count as metadata.
 */
export function contentOf(
  attributes: Record<string, unknown>,
  setting: 'digest' | 'keep',
  ofCodingAgent = false,
): Content {
  const names = Object.keys(attributes)
  if (names.length === 0) return {}
  if (setting === 'keep') return { attributes }
  const included = newObject()
  const digests = newObject() as Record<string, ContentDigest>
  let keeps = 0
  for (const name of names) {
    const isKnown = METADATA.has(name) || (ofCodingAgent && CODING_AGENT_METADATA.has(name))
    if (isKnown && isInClear(name, attributes[name])) {
      included[name] = attributes[name]
      keeps++
    } else digests[name] = digestOfValue(attributes[name])
  }
  return {
    attributes: keeps === 0 ? undefined : included,
    digests: keeps === names.length ? undefined : digests,
  }
}

/**
 * Names of attributes for the class or the code of an error. Some instrumentations write the text of the error into
 * these attributes instead.
 */
const ERROR_TYPES: ReadonlySet<string> = new Set(['error.type', 'exception.type'])
/** Matches a code or the name of a class, also names of generic classes and of classes in Go or C++. */
const ERROR_TYPE = /^[\p{L}\p{N}_$.:*<>[\]`,/+-]{1,256}$/u
/**
 * Names of attributes for the name or the address of a host. Some frameworks write the URL of the model into these
 * attributes instead.
 */
const HOSTS: ReadonlySet<string> = new Set([
  'host.name',
  'net.host.name',
  'peer.service',
  'server.address',
  'service.peer.name',
])
/**
 * Matches characters that only a URL or a path has. A URL or path is not metadata, because a URL may contain a key in
 * its user, path or query.
 */
const URL_MARK = /[/?#@]/

/**
 * Returns true if the value of an attribute with a name of metadata also has the form of metadata. This form is a
 * scalar or a list of scalars, without a long text.
 */
function isInClear(name: string, value: unknown): boolean {
  if (Array.isArray(value)) return !ERROR_TYPES.has(name) && !HOSTS.has(name) && value.every(isShortScalar)
  if (!isShortScalar(value)) return false
  if (typeof value !== 'string') return true
  if (HOSTS.has(name)) return !URL_MARK.test(value)
  return !ERROR_TYPES.has(name) || ERROR_TYPE.test(value)
}

function isShortScalar(value: unknown): boolean {
  return typeof value === 'string'
    ? value.length <= OTLP_METADATA_CHARS_MAX
    : typeof value !== 'object' || value === null
}

/** Returns the digest of a value. The SDK computes the same digest (docs/formats/content-digests.md). */
export function digestOfValue(value: unknown): ContentDigest {
  return digestOf(value, sha256Hex)
}
