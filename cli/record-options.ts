import { TYPE_NAME } from '../src/proof/statement/fields.ts'
import { mapOthers, OTHER_MEMBERS, otherMembersOf } from '../src/proof/statement/record-members.ts'
import { parseCount } from './arguments.ts'
import { optionObject } from './json-input.ts'
import { UsageError } from './run.ts'

const TEXT = { type: 'string' } as const

const WRITE_OPTIONS = {
  'on-behalf-of': { type: 'string' },
  'occurred-at': { type: 'string' },
  'idempotency-key': { type: 'string' },
} as const
export const WRITE_HELP = `  --on-behalf-of AGENT   in the name of another agent (agt_…); needs the scope agents:act
  --occurred-at TIME     when it happened: RFC 3339, UTC
  --idempotency-key KEY  repeating the command with the same key writes nothing twice. Default: a new key`

/**
 * Members of a record that have no database column (src/proof/statement/record-members.ts). Each is an option of the
 * same name.
 */
const OTHER_OPTIONS = mapOthers(() => TEXT)

/** Options of notarize and create. */
export const RECORD_OPTIONS = {
  payload: { type: 'string' },
  type: { type: 'string' },
  parent: { type: 'string' },
  reference: { type: 'string', multiple: true },
  metadata: { type: 'string' },
  subject: { type: 'string' },
  ...OTHER_OPTIONS,
  ...WRITE_OPTIONS,
} as const
export const RECORD_HELP = `  --parent RECORD        the record that led to this one
  --reference TEXT       what the record is about in other systems, a URI or system:id. Repeatable
  --metadata JSON        an object of any members; not signed
  --subject LABEL        the person that the record is about. Stored as a keyed hash, by which all documents of the
                         person can be found and erased
${OTHER_MEMBERS.map(([name, { description }]) => `${`  --${name} TEXT`.padEnd(24)} ${description}\n`).join('')}${WRITE_HELP}`

/** Option of commands about a record that a peer may have sent. */
export const PEER_OPTIONS = { peer: { type: 'string' } } as const
export const PEER_HELP = `  --peer PEER            the record that this peer sent, because two peers can send records with the same id. Default:
                         your own record, or else the one that was sent first`

/** Options of every step of a gated record. */
export const STEP_OPTIONS = { 'if-version': { type: 'string' }, ...WRITE_OPTIONS } as const
export const STEP_HELP = `  --if-version N         refuse unless the record still has this version
${WRITE_HELP}`

type WriteValues = {
  readonly 'on-behalf-of'?: string | undefined
  readonly 'occurred-at'?: string | undefined
  readonly 'idempotency-key'?: string | undefined
}

/**
 * Parses `--type`. Throws UsageError if the text has another form, because the server could only report that a pattern
 * does not match.
 */
export function parseType(text: string): `${string}/${number}` {
  if (TYPE_NAME.test(text)) return text as `${string}/${number}`
  throw new UsageError('--type takes NAME/VERSION, such as generic/1: `tallystick types list` shows them')
}

export function writeMembers(values: WriteValues) {
  return { onBehalfOf: values['on-behalf-of'], occurredAt: values['occurred-at'] }
}

/** Returns the members of a record for a request body, except payload and type. */
export function recordMembers(
  values: WriteValues & {
    readonly parent?: string | undefined
    readonly reference?: string[] | undefined
    readonly metadata?: string | undefined
    readonly subject?: string | undefined
  },
) {
  return {
    ...writeMembers(values),
    parent: values.parent,
    references: values.reference,
    metadata: optionObject(values.metadata, '--metadata'),
    subject: values.subject,
    ...otherMembersOf(values),
  }
}

export function stepOptions(values: WriteValues & { readonly 'if-version'?: string | undefined }) {
  return {
    idempotencyKey: values['idempotency-key'],
    ifVersion: parseCount(values['if-version'], '--if-version'),
  }
}
