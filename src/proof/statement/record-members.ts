import { formatId, parseId, type Uuid } from '../ids.ts'

/*
 * Table of the optional signed members of a record. These members are defined only here. Statements, batch items, rows,
 * chunks, keys, filters, answers, audits, restores and request bodies are generated from this table. Only the second
 * verifier and the pages on formats list the members by hand, because those two lists are promises to readers.
 *
 * A new member needs no SQL and no flag. A member without `stored` is stored as signed, in `otherMembers`.
 * CONTRIBUTING.md has the steps.
 */

/** Maps a kind of storage to the TypeScript type of stored values. */
type Stored = { agent: Uuid; record: Uuid; time: number; trace: string }

type Column = {
  /** Kind of storage, which also decides the allowed signed texts (predicates.ts). */
  readonly as: keyof Stored
  readonly row: string
  /** Column of the table `records`. */
  readonly column: string
  /**
   * Flag of the member in a chunk. It is set if a record has the member. The chunk contains the values of the members
   * in the order of the flags.
   */
  readonly flag: number
  /** First letter of the member's search keys in chunks. */
  readonly key: string
}

type Shared = {
  /**
   * Statements that may have the member: every entry, every event of a record, or only a record's first event. Items of
   * batches may have all members.
   */
  readonly of: 'entry' | 'event' | 'record'
  /** True if the API's answers show the member. */
  readonly shown: boolean
}

export type RecordMember =
  | (Shared & { readonly stored: Column })
  /** A member that is the digest of a document beside the record. */
  | (Shared & { readonly stored: 'document' })
  | (Shared & ColumnlessMember)

/** A text member without a column of its own. It is stored as signed. */
export type ColumnlessMember = {
  readonly pattern: RegExp
  /**
   * True if records can be searched by the member's exact value. Such a member needs an index `records_by_…` in
   * migrations/0004-records.sql, named after the member.
   */
  readonly filter: boolean
  /** Description in the API, in MCP, and in the help of command-line options. */
  readonly description: string
  readonly stored?: never
}

/**
 * All optional members, in the order in which statements contain them. The table has no functions, because the SDK's
 * client includes it.
 */
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
/** Names of members with a column and a flag of their own. */
export type StoredName = NamesOf<{ stored: { row: string } }>
/** Names of members without a column. */
export type OtherName = NamesOf<{ pattern: RegExp }>
/** Names of members without a column by which records can be searched. */
export type SearchedName = NamesOf<{ filter: true }>

/** Optional members of a statement or item, as signed. */
export type SignedMembers = { readonly [Name in MemberName]?: string }
export type OtherMembers = { readonly [Name in OtherName]?: string }
export type OtherRequest = { readonly [Name in OtherName]?: string | undefined }

/** Members in rows of records and chunks. A value is null if the record does not have the member. */
export type MemberColumns = {
  readonly [Name in StoredName as Table[Name]['stored']['row']]: Stored[Table[Name]['stored']['as']] | null
} & {
  /** Members without a column. null if the record has none of them. */
  readonly otherMembers: OtherMembers | null
}

export const MEMBER_NAMES = Object.keys(RECORD_MEMBERS) as MemberName[]

type StoredMember = Column & { readonly name: StoredName; readonly row: keyof MemberColumns }

const ENTRIES = Object.entries(RECORD_MEMBERS) as [MemberName, RecordMember][]

const STORED: readonly StoredMember[] = ENTRIES.flatMap(([name, { stored }]) =>
  stored && stored !== 'document' ? [{ ...stored, name } as StoredMember] : [],
)

/** Members with columns, in the order of their flags. */
export const STORED_MEMBERS = STORED.toSorted((a, b) => a.flag - b.flag)

/** Members without a column, in the order of their names. */
export const OTHER_MEMBERS = othersOf(RECORD_MEMBERS)

/** Returns those members of a table that have no column, in the order of their names. */
export function othersOf(table: Readonly<Record<string, RecordMember>>) {
  const names = Object.keys(table).filter((name) => table[name]!.stored === undefined)
  return names.sort().map((name) => [name as OtherName, table[name] as ColumnlessMember & Shared] as const)
}

/** Calls `of` for each member without a column. Returns an object with the results. */
export function mapOthers<T>(of: (member: ColumnlessMember) => T): { readonly [Name in OtherName]: T } {
  return Object.fromEntries(OTHER_MEMBERS.map(([name, member]) => [name, of(member)])) as never
}

/** Calls `of` for each searchable member without a column. Returns an object with the results. */
export function mapSearched<T>(of: (name: SearchedName, member: ColumnlessMember) => T): {
  readonly [Name in SearchedName]: T
} {
  const searched = OTHER_MEMBERS.filter(([, { filter }]) => filter)
  return Object.fromEntries(searched.map(([name, member]) => [name, of(name as never, member)])) as never
}

/** Members without a column that the API's answers show. */
export const SHOWN_OTHERS = shownWhere((stored) => stored === undefined) as readonly OtherName[]

/** Members that answers repeat as signed texts: all shown members except digests of documents. */
export const SHOWN_TEXTS = shownWhere((stored) => stored !== 'document')

function shownWhere(is: (stored: RecordMember['stored']) => boolean): readonly MemberName[] {
  return ENTRIES.filter(([, { shown, stored }]) => shown && is(stored)).map(([name]) => name)
}

/** Names of an item's members, in the order in which the item's bytes contain them. */
export const ITEM_NAMES: readonly ('digest' | 'record' | 'type' | MemberName)[] = [
  ...(['digest', 'record', 'type'] as const),
  ...ENTRIES.map(([name]) => name),
].sort()

/** Functions that convert a signed text to the stored value, and back. */
const CODECS: {
  readonly [As in keyof Stored]: readonly [(text: string) => Stored[As], (value: Stored[As]) => string]
} = {
  agent: [(text) => parseId('agt', text), (id) => formatId('agt', id)],
  record: [(text) => parseId('rec', text), (id) => formatId('rec', id)],
  time: [Date.parse, (ms) => new Date(ms).toISOString()],
  trace: [(text) => text, (text) => text],
}

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
 * Adds the signed members to `to` and returns `to`. This is the inverse of columnsOfSigned. `references`: digest in
 * hex, or null if the record has none. `agentOf`: formats an agent's id. A caller may pass a faster function.
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

/** Returns those members of a request or statement that have no column. Returns null if it has none of them. */
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

/** Returns the optional members whose `of` is one of the scopes. */
export function membersOf(
  ...scopes: readonly Shared['of'][]
): readonly (readonly [MemberName, RecordMember])[] {
  return ENTRIES.filter(([, { of }]) => scopes.includes(of))
}
