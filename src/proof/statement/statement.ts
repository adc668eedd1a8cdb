import { utf8Decode } from '../bytes.ts'
import { ProofError } from '../error.ts'
import { isId } from '../ids.ts'
import { quote } from '../json/jcs.ts'
import { parseJsonText } from '../json/json-text.ts'
import type { JsonObject, JsonValue } from '../json/json-value.ts'
import type { Fields } from './check-schemas.ts'
import { parseDocumentSubject } from './document-subjects.ts'
import { refuseFederation } from './federation-statements.ts'
import { isHash, isObject, isString, isTypeName, refuseFields } from './fields.ts'
import {
  ENTRY_KINDS,
  type EntryKind,
  findKind,
  predicateTypeOf,
  type Subject,
  type SubjectRule,
} from './kinds.ts'
import { PREDICATES } from './predicates.ts'

/*
 * In-toto v1 statements (docs/formats/statements.md), the texts of entries. The signed bytes are stored as they are;
 * a statement is parsed to be checked and read, never to be written again.
 */

export type ParsedStatement = {
  readonly kind: EntryKind
  /** In the order of the kind's rule; the first is what the entry is about. */
  readonly subjects: readonly [Subject, ...Subject[]]
  readonly ledger: string
  /** An agent, `system`, or the remote agent `led_…/agt_…` whose offer the step takes. */
  readonly actor: string
  /** null for `system` and for remote agents: no key of this ledger acted. */
  readonly key: string | null
  readonly onBehalfOf: string | null
  readonly recordedAt: string
  /** Milliseconds since the epoch. */
  readonly recordedAtMs: number
  /** All of the predicate, checked against the kind's fields (predicates.ts). */
  readonly predicate: JsonObject
}

/** Party of the event: a gateway acts for the agent that it names. */
export function partyOf({ actor, onBehalfOf }: Pick<ParsedStatement, 'actor' | 'onBehalfOf'>): string {
  return onBehalfOf ?? actor
}

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'

/**
 * The bytes to sign, as text. `predicate`: as the kind's fields have it, in any order; members that are undefined are
 * left out. Nothing is checked: tests hold our statements to parseStatement.
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
 * Throws `bad_utf8`, a code of the JSON text check, or `statement_structure`, `statement_predicate_type`,
 * `statement_subject`, `statement_predicate`: in this order of precedence.
 */
export function parseStatement(bytes: Uint8Array): ParsedStatement {
  const statement = parseJsonText(utf8Decode(bytes))
  refuseFields(statement, STATEMENT_FIELDS, 'statement_structure')
  const kind = findKind(statement['predicateType'] as string)
  if (!kind) throw new ProofError('statement_predicate_type', `unknown: ${statement['predicateType']}`)
  const subjects = parseSubjects(kind, statement['subject'] as JsonValue[])
  const predicate = statement['predicate'] as JsonObject
  refuseFields(predicate, PREDICATES[kind], 'statement_predicate')
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

function parseSubjects(kind: EntryKind, list: readonly JsonValue[]): [Subject, ...Subject[]] {
  const rules = ENTRY_KINDS[kind].subjects
  const least = rules.at(-1)!.endsWith('?') ? rules.length - 1 : rules.length
  if (list.length < least || list.length > rules.length) {
    throw new ProofError('statement_subject', `${kind} has ${rules.join(', ')}, not ${list.length} subjects`)
  }
  const subjects = list.map((member): Subject => {
    refuseFields(member, SUBJECT_FIELDS, 'statement_subject')
    return { name: member['name'] as string, sha256: (member['digest'] as { sha256: string }).sha256 }
  })
  for (const [i, { name }] of subjects.entries()) {
    if (!isSubjectName(rules[i]!, name, subjects)) {
      throw new ProofError('statement_subject', `subject ${i} of ${kind} is no ${rules[i]}: ${name}`)
    }
  }
  return subjects as [Subject, ...Subject[]]
}

function isSubjectName(rule: SubjectRule, name: string, subjects: readonly Subject[]): boolean {
  if (rule === 'type') return isTypeName(name)
  if (rule === 'values') return name === `${subjects[1]!.name}/values`
  if (rule === 'reason?') return name === `${subjects[0]!.name}/reason`
  if (rule === 'erased') return parseDocumentSubject(name) !== null
  if (rule === 'entry') return isEntryName(name)
  return isId(rule === 'cmp?' ? 'cmp' : rule, name)
}

/** `<led_…>/<seq>`, the seq as JSON writes it. */
function isEntryName(name: string): boolean {
  const slash = name.indexOf('/')
  const digits = name.slice(slash + 1)
  const isSeq = /^(?:0|[1-9][0-9]*)$/.test(digits) && Number.isSafeInteger(Number(digits))
  return isSeq && isId('led', name.slice(0, slash))
}

/** Only agents of this ledger have a key of it. */
function refuseActorWithoutKey(predicate: JsonObject): void {
  const actor = predicate['actor'] as string
  const isAgent = isId('agt', actor)
  if (isAgent !== Object.hasOwn(predicate, 'key')) {
    throw new ProofError('statement_predicate', isAgent ? 'key is missing' : `${actor} acts without a key`)
  }
  if (!isAgent && Object.hasOwn(predicate, 'onBehalfOf')) {
    throw new ProofError('statement_predicate', `${actor} acts for nobody`)
  }
}

/** The member of the predicate that names the same thing as a subject of this rule. */
const MEMBER_OF_SUBJECT: Partial<Record<SubjectRule, string>> = {
  led: 'ledger',
  agt: 'agent',
  rec: 'record',
  bat: 'batch',
  cmp: 'completion',
  'cmp?': 'completion',
}

const DECISION_OF_VERDICT: Readonly<Record<string, string>> = { accept: 'SETTLE', reject: 'HOLD' }

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
  refuseFederation(kind, subjects, predicate)
  if (kind === 'ledger-created') refuseForeignOrigin(predicate)
  if (kind === 'verdict-rendered') {
    const { decision } = predicate['signal'] as JsonObject
    if (decision !== DECISION_OF_VERDICT[predicate['verdict'] as string]) {
      throw new ProofError('statement_predicate', `${predicate['verdict']} is not ${decision}`)
    }
  }
}

/** The origin is the name of the note key, which must not hold spaces or plus signs (C2SP signed-note). */
function refuseForeignOrigin(predicate: JsonObject): void {
  const origin = (predicate['definition'] as JsonObject)['origin'] as string
  if (/[\s+]/.test(origin) || !origin.endsWith(`/${predicate['ledger']}`)) {
    throw new ProofError('statement_predicate', `the origin is not <host>/${predicate['ledger']}`)
  }
}
