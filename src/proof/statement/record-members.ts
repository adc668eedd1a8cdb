import { formatId, parseId, type Uuid } from '../ids.ts'

/*
 * Optional signed members of a record, each in one place. Statements, items of batches, rows, chunks, keys, filters, answers, audits,
 * restores and the ways in are made from this table. Only the second verifier and the formats' pages list members by hand: they are promises.
 *
 * A new member needs no SQL and no flag: without `stored` it lies among the other members, as it is signed. CONTRIBUTING.md has the steps.
 */

/** Values as rows hold them, by how they are stored. */
type Stored = { agent: Uuid; record: Uuid; time: number; trace: string }

type Column = {
  /** Also says which texts may be signed (predicates.ts). */
  readonly as: keyof Stored
  /** Name in rows. */
  readonly row: string
  /** Name in the table `records`. */
  readonly column: string
  /** Flag in a chunk, in the order of the bytes that it announces. */
  readonly flag: number
  /** Letter of its keys of chunks. */
  readonly key: string
}

type Shared = {
  /** Statements that may have it, beside items: every entry, every event of a record, or its first event alone. */
  readonly of: 'entry' | 'event' | 'record'
  /** Whether answers show it. */
  readonly shown: boolean
}

export type RecordMember =
  | (Shared & { readonly stored: Column })
  /** Digest of a document that lies beside the record. */
  | (Shared & { readonly stored: 'document' })
  | (Shared & OtherMember)

/** A text that is stored as it is signed, among the other members. */
export type OtherMember = {
  readonly pattern: RegExp
  /** Exact search. It needs an index `records_by_…` in migrations/0004-records.sql, named after the member. */
  readonly filter: boolean
  /** Description in the API, in MCP and in the help of the command line, where it is an option of this name. */
  readonly says: string
  readonly stored?: never
}

/** In the order in which statements have them. Without functions: the SDK's client has this table too. */
export const RECORD_MEMBERS = {
  onBehalfOf: {
    of: 'entry',
    stored: { as: 'agent', row: 'onBehalfOf', column: 'on_behalf_of', flag: 0x04, key: 'B' },
    shown: true,
  },
  occurredAt: {
    of: 'event',
    stored: { as: 'time', row: 'occurredAtMs', column: 'occurred_at', flag: 0x02, key: 'D' },
    shown: true,
  },
  traceparent: {
    of: 'entry',
    stored: { as: 'trace', row: 'traceparent', column: 'traceparent', flag: 0x10, key: 'C' },
    shown: false,
  },
  parent: {
    of: 'record',
    stored: { as: 'record', row: 'parentId', column: 'parent_id', flag: 0x08, key: 'P' },
    shown: true,
  },
  references: {
    of: 'record',
    stored: 'document',
    shown: true,
  },
} as const satisfies Record<string, RecordMember>

type Table = typeof RECORD_MEMBERS
export type MemberName = keyof Table
type NamesOf<What> = { [Name in MemberName]: Table[Name] extends What ? Name : never }[MemberName]
/** Members with a column and a flag of their own. */
export type StoredName = NamesOf<{ stored: { row: string } }>
/** Members among the others. */
export type OtherName = NamesOf<{ pattern: RegExp }>
/** Those of them that records are searched by. */
export type SearchedName = NamesOf<{ filter: true }>

/** Optional members of a statement or an item, as they are signed. */
export type SignedMembers = { readonly [Name in MemberName]?: string }
export type OtherMembers = { readonly [Name in OtherName]?: string }
/** They as a request has them. */
export type OtherRequest = { readonly [Name in OtherName]?: string | undefined }

/** Members as rows of records and chunks hold them; null: the record has none. */
export type MemberColumns = {
  readonly [Name in StoredName as Table[Name]['stored']['row']]: Stored[Table[Name]['stored']['as']] | null
} & {
  /** Those without a column; null: none of them. */
  readonly otherMembers: OtherMembers | null
}

export const MEMBER_NAMES = Object.keys(RECORD_MEMBERS) as MemberName[]

type StoredMember = Column & { readonly name: StoredName; readonly row: keyof MemberColumns }

const ENTRIES = Object.entries(RECORD_MEMBERS) as [MemberName, RecordMember][]

const STORED: readonly StoredMember[] = ENTRIES.flatMap(([name, { stored }]) =>
  stored && stored !== 'document' ? [{ ...stored, name } as StoredMember] : [],
)

/** In the order of their flags. */
export const STORED_MEMBERS = STORED.toSorted((a, b) => a.flag - b.flag)

/** Members without a column, in the order of their names. */
export const OTHER_MEMBERS = othersOf(RECORD_MEMBERS)

/** Those members of a table, in the order of their names. */
export function othersOf(table: Readonly<Record<string, RecordMember>>) {
  const names = Object.keys(table).filter((name) => table[name]!.stored === undefined)
  return names.sort().map((name) => [name as OtherName, table[name] as OtherMember & Shared] as const)
}

/** Something of each member among the others, by its name. */
export function mapOthers<T>(of: (member: OtherMember) => T): { readonly [Name in OtherName]: T } {
  return Object.fromEntries(OTHER_MEMBERS.map(([name, member]) => [name, of(member)])) as never
}

/** Something of each member among the others that records are searched by. */
export function mapSearched<T>(of: (name: SearchedName, member: OtherMember) => T): {
  readonly [Name in SearchedName]: T
} {
  const searched = OTHER_MEMBERS.filter(([, { filter }]) => filter)
  return Object.fromEntries(searched.map(([name, member]) => [name, of(name as never, member)])) as never
}

/** Those that answers show. */
export const SHOWN_OTHERS = shownWhere((stored) => stored === undefined) as readonly OtherName[]

/** Shown members of statements and items whose values answers repeat: all but digests of documents. */
export const SHOWN_TEXTS = shownWhere((stored) => stored !== 'document')

function shownWhere(is: (stored: RecordMember['stored']) => boolean): readonly MemberName[] {
  return ENTRIES.filter(([, { shown, stored }]) => shown && is(stored)).map(([name]) => name)
}

/** Names of an item's members, in the order of its bytes. */
export const ITEM_NAMES: readonly ('digest' | 'record' | 'type' | MemberName)[] = [
  ...(['digest', 'record', 'type'] as const),
  ...ENTRIES.map(([name]) => name),
].sort()

/** From a signed text to what rows hold, and back. */
const CODECS: {
  readonly [As in keyof Stored]: readonly [(text: string) => Stored[As], (value: Stored[As]) => string]
} = {
  agent: [(text) => parseId('agt', text), (id) => formatId('agt', id)],
  record: [(text) => parseId('rec', text), (id) => formatId('rec', id)],
  time: [Date.parse, (ms) => new Date(ms).toISOString()],
  trace: [(text) => text, (text) => text],
}

/** Columns of a row or a chunk that the signed members make. */
export function columnsOfSigned(signed: SignedMembers): MemberColumns {
  const columns: Record<string, unknown> = {}
  for (const { name, row, as } of STORED_MEMBERS) {
    const text = signed[name]
    columns[row] = text === undefined ? null : CODECS[as][0](text)
  }
  columns['otherMembers'] = otherMembersOf(signed)
  return columns as MemberColumns
}

/**
 * Adds the signed members of columns to `signed`: the inverse of columnsOfSigned. `references`: digest in hex; null: none. `agentOf`: formats
 * an agent's id, if the caller can do it faster.
 */
export function addSigned<T extends object>(
  to: T,
  columns: MemberColumns,
  references: string | null,
  agentOf: (agent: Uuid) => string = CODECS.agent[1],
): T & SignedMembers {
  const signed = to as Record<string, string>
  for (const { name, row, as } of STORED) {
    const value = columns[row]
    if (value === null) continue
    signed[name] = as === 'agent' ? agentOf(value as Uuid) : CODECS[as][1](value as never)
  }
  if (references !== null) signed['references'] = references
  if (columns.otherMembers !== null) Object.assign(signed, columns.otherMembers)
  return to
}

/** Members of a request or a statement that lie among the others; null: none of them. */
export function otherMembersOf(from: object): OtherMembers | null {
  let found: Record<string, string> | null = null
  for (const [name] of OTHER_MEMBERS) {
    const value = (from as Record<string, string | undefined>)[name]
    if (value === undefined) continue
    found ??= {}
    found[name] = value
  }
  return found
}

/** Optional members that a statement or an item of these scopes may have. */
export function membersOf(
  ...scopes: readonly Shared['of'][]
): readonly (readonly [MemberName, RecordMember])[] {
  return ENTRIES.filter(([, { of }]) => scopes.includes(of))
}
