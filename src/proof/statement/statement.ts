import { utf8Decode, utf8Encode } from '../bytes.ts'
import { ProofError } from '../error.ts'
import { isId } from '../ids.ts'
import { quote } from '../json/jcs.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import type { Fields } from './check-schemas.ts'
import { parseDocumentSubject } from './document-subjects.ts'
import { refuseReceived } from './federation-statements.ts'
import { isHash, isObject, isString, isTypeName, refuseFields } from './fields.ts'
import {
  ENTRY_KINDS,
  type EntryKind,
  findKind,
  predicateTypeOf,
  type Subject,
  type SubjectRule,
} from './kinds.ts'

/*
 * An in-toto v1 Statement (docs/formats/statements.md), which is the payload of an envelope. The signed bytes are
 * stored unchanged. Statements are parsed only to be checked and read. They are never encoded again.
 */

export type ParsedStatement = {
  readonly kind: EntryKind
  /** Subjects in the order of the kind's rule. The entry is about the first subject. */
  readonly subjects: readonly [Subject, ...Subject[]]
  readonly ledger: string
  /** An agent, `system`, or the remote agent `led_…/agt_…` whose offer the step takes. */
  readonly actor: string
  /** API key of the actor. null if the actor is `system` or a remote agent, which have no key of this ledger. */
  readonly key: string | null
  readonly onBehalfOf: string | null
  readonly recordedAt: string
  readonly recordedAtMs: number
  /** The whole predicate, checked against the kind's fields (predicates.ts). */
  readonly predicate: JsonObject
}

/** Returns the party of the event: the agent in `onBehalfOf`, or else the actor. */
export function partyOf({ actor, onBehalfOf }: Pick<ParsedStatement, 'actor' | 'onBehalfOf'>): string {
  return onBehalfOf ?? actor
}

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'

/**
 * Builds the text to sign. `predicate`: the kind's members in any order. Members that are undefined are left out.
 * Checks nothing: the caller must call refuseUnverifiable.
 */
export function buildStatement(kind: EntryKind, subjects: readonly Subject[], predicate: object): string {
  let list = ''
  for (const { name, sha256 } of subjects) {
    list += `${list === '' ? '' : ','}{"name":${quote(name)},"digest":{"sha256":"${sha256}"}}`
  }
  return (
    `{"_type":"${STATEMENT_TYPE}","subject":[${list}],` +
    `"predicateType":"${predicateTypeOf(kind)}","predicate":${JSON.stringify(predicate)}}`
  )
}

const STATEMENT_FIELDS: Fields = {
  required: {
    _type: (value) => value === STATEMENT_TYPE,
    subject: Array.isArray,
    predicateType: isString,
    predicate: isObject,
  },
  optional: {},
}

const SUBJECT_FIELDS: Fields = {
  required: {
    name: isString,
    digest: (value) => isObject(value) && Object.keys(value).length === 1 && isHash(value['sha256'] ?? null),
  },
  optional: {},
}

/**
 * Parses a statement. Throws the first of these codes that applies: `bad_utf8`, a code of the JSON text check,
 * `statement_structure`, `statement_predicate_type`, `statement_subject`, `statement_predicate`.
 */
export function parseStatement(bytes: Uint8Array): ParsedStatement {
  const statement = parseJsonText(utf8Decode(bytes))
  refuseFields(statement, STATEMENT_FIELDS, 'statement_structure')
  const kind = findKind(statement['predicateType'] as string)
  if (!kind)
    throw new ProofError('statement_predicate_type', `unknown predicate type: ${statement['predicateType']}`)
  const subjects = parseSubjects(statement['subject'] as JsonValue[])
  return checkStatement(kind, subjects, statement['predicate'] as JsonObject)
}

/** Checks the values of a statement. Throws `statement_subject` before `statement_predicate`. */
function checkStatement(
  kind: EntryKind,
  subjects: readonly Subject[],
  predicate: JsonObject,
): ParsedStatement {
  refuseSubjects(kind, subjects)
  refuseFields(predicate, ENTRY_KINDS[kind].fields, 'statement_predicate')
  refuseActorWithoutKey(predicate)
  refuseContradictions(kind, subjects, predicate)
  const recordedAt = predicate['recordedAt'] as string
  return {
    kind,
    subjects,
    ledger: predicate['ledger'] as string,
    actor: predicate['actor'] as string,
    key: (predicate['key'] as string | undefined) ?? null,
    onBehalfOf: (predicate['onBehalfOf'] as string | undefined) ?? null,
    recordedAt,
    recordedAtMs: Date.parse(recordedAt),
    predicate,
  }
}

/**
 * Checks a statement before it is signed. Applies the same rules and throws the same errors as parseStatement. `text`:
 * the result of buildStatement for these values. The text is parsed again only if it may contain JSON that verifiers
 * refuse. This is possible if a value has a lone surrogate, or is an object that a client sent.
 */
export function refuseUnverifiable(
  text: string,
  kind: EntryKind,
  subjects: readonly Subject[],
  predicate: object,
): ParsedStatement {
  if (text.includes('\\u') || Object.hasOwn(predicate, 'tolerances')) return parseStatement(utf8Encode(text))
  for (const { name, sha256 } of subjects) {
    if (typeof name !== 'string' || !isHash(sha256))
      throw new ProofError(
        'statement_subject',
        `each subject needs a name and a digest of 64 hex digits, but ${name} has the digest ${sha256}`,
      )
  }
  return checkStatement(kind, subjects, predicate as JsonObject)
}

function parseSubjects(list: readonly JsonValue[]): Subject[] {
  return list.map((member): Subject => {
    refuseFields(member, SUBJECT_FIELDS, 'statement_subject')
    return { name: member['name'] as string, sha256: (member['digest'] as { sha256: string }).sha256 }
  })
}

function refuseSubjects(
  kind: EntryKind,
  subjects: readonly Subject[],
): asserts subjects is [Subject, ...Subject[]] {
  const rules = ENTRY_KINDS[kind].subjects
  const least = rules.at(-1)!.endsWith('?') ? rules.length - 1 : rules.length
  if (subjects.length < least || subjects.length > rules.length) {
    throw new ProofError(
      'statement_subject',
      `${kind} must have the subjects ${rules.join(', ')}, not ${subjects.length} subjects`,
    )
  }
  for (const [i, { name }] of subjects.entries()) {
    if (!isSubjectName(rules[i]!, name, subjects)) {
      throw new ProofError(
        'statement_subject',
        `subject ${i} of ${kind}, ${name}, does not have the form of ${rules[i]}`,
      )
    }
  }
}

function isSubjectName(rule: SubjectRule, name: string, subjects: readonly Subject[]): boolean {
  if (rule === 'type') return isTypeName(name)
  if (rule === 'values') return name === `${subjects[1]!.name}/values`
  if (rule === 'reason?') return name === `${subjects[0]!.name}/reason`
  if (rule === 'erased') return parseDocumentSubject(name) !== null
  if (rule === 'entry') return isEntryName(name)
  return isId(rule === 'cmp?' ? 'cmp' : rule, name)
}

/** Returns true if a name is `<led_…>/<seq>`, with the seq written like an integer in JSON. */
function isEntryName(name: string): boolean {
  const slash = name.indexOf('/')
  const digits = name.slice(slash + 1)
  const isSeq = /^(?:0|[1-9][0-9]*)$/.test(digits) && Number.isSafeInteger(Number(digits))
  return isSeq && isId('led', name.slice(0, slash))
}

/**
 * Throws if the actor is an agent of this ledger and the API key is missing. Any other actor must have neither an API
 * key nor `onBehalfOf`. A member with the value undefined counts as absent, as in refuseFields.
 */
function refuseActorWithoutKey(predicate: JsonObject): void {
  const actor = predicate['actor'] as string
  const isAgent = isId('agt', actor)
  if (isAgent !== (predicate['key'] !== undefined)) {
    throw new ProofError(
      'statement_predicate',
      isAgent ? `key is missing, although the agent ${actor} acts` : `${actor} cannot have a key`,
    )
  }
  if (!isAgent && predicate['onBehalfOf'] !== undefined) {
    throw new ProofError('statement_predicate', `${actor} cannot act on behalf of an agent`)
  }
}

/** Maps a subject's rule to the member of the predicate that names the same thing as the subject. */
const MEMBER_OF_SUBJECT: Partial<Record<SubjectRule, string>> = {
  led: 'ledger',
  agt: 'agent',
  rec: 'record',
  bat: 'batch',
  cmp: 'completion',
  'cmp?': 'completion',
}

function refuseContradictions(
  kind: EntryKind,
  subjects: readonly [Subject, ...Subject[]],
  predicate: JsonObject,
): void {
  for (const [i, { name }] of subjects.entries()) {
    const member = MEMBER_OF_SUBJECT[ENTRY_KINDS[kind].subjects[i]!]
    const named = member === undefined ? undefined : predicate[member]
    if (named !== undefined && named !== name) {
      throw new ProofError('statement_subject', `subject ${i} is ${name}, but ${member} is ${named}`)
    }
  }
  refuseReceived(kind, subjects[0], predicate)
  ENTRY_KINDS[kind].refuse?.(predicate, subjects)
}
