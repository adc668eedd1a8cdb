import { schemaOf } from '../src/proof/statement/check-schemas.ts'
import { KEY_USES } from '../src/proof/statement/key-uses.ts'
import {
  ENTRY_KINDS,
  type EntryKind,
  LIFECYCLE,
  RECORD_STATES,
  STATEMENT,
} from '../src/proof/statement/kinds.ts'
import { MACHINES } from '../src/proof/statement/machines.ts'

/*
 * Prints the tables of src/proof/statement: docs/reference/kinds.json, and the database's copy between two marks in
 * migrations/0001. Tests compare the second verifier with kinds.json (test/proof/statement/second-verifier.test.ts,
 * python/tests/test_kinds.py).
 */

/**
 * Returns a row of the table, in which names of members replace functions. `follows` is true if this entry is used to
 * check later entries of the ledger.
 */
export function printedKind(kind: EntryKind) {
  const { fields, movesRecord, refuse, follow, step, ...columns } = ENTRY_KINDS[kind]
  const members = (checks: typeof fields.required) =>
    Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, schemaOf(check)]))
  return {
    ...columns,
    required: members(fields.required),
    optional: members(fields.optional),
    refuses: refuse !== undefined,
    follows: follow !== undefined || step !== undefined,
  }
}

export function printedTables() {
  const kinds = (Object.keys(ENTRY_KINDS) as EntryKind[]).map((kind) => [kind, printedKind(kind)] as const)
  return { kinds: Object.fromEntries(kinds), machines: MACHINES, keys: KEY_USES }
}

/** Returns the text of kinds.json. Each column of a row has its own line, so that a diff shows the changed cells. */
export function kindsFile(): string {
  const table = (rows: object) =>
    `{\n${joined(rows, (row) => `{\n${joined(row, JSON.stringify, '  ')}\n }`, ' ')}\n}`
  return `{\n${joined(printedTables(), table, '')}\n}\n`
}

function joined(object: object, textOf: (value: never) => string, indent: string): string {
  const lines = Object.entries(object).map(
    ([name, value]) => `${indent}${JSON.stringify(name)}: ${textOf(value as never)}`,
  )
  return lines.join(',\n')
}

const BEGIN = '-- Made by `npm run docs` of the tables in src/proof/statement; not to be edited.\n'
const END = '-- End of what is made.\n'

/** Returns the migration with new tables of rules. */
export function withTables(migration: string): string {
  const begin = migration.indexOf(BEGIN)
  const end = migration.indexOf(END)
  if (begin < 0 || end < begin) throw new Error('the migration has no two marks')
  return migration.slice(0, begin) + BEGIN + sqlTables() + migration.slice(end)
}

function sqlTables(): string {
  const kinds = (Object.keys(ENTRY_KINDS) as EntryKind[]).map((kind) => {
    const { records, workerOnly } = ENTRY_KINDS[kind]
    return [kind, records !== undefined, workerOnly === true] as const
  })
  const states = RECORD_STATES.map((state) => [state, !LIFECYCLE.some(({ from }) => from === state)] as const)
  const many = kinds.filter(([kind]) => ENTRY_KINDS[kind].records === 'makes many')
  const ways = [
    // A kind that makes many records has no row in LIFECYCLE. Its records begin in the first state.
    ...many.map(([kind]) => ['', kind, RECORD_STATES[0]!] as const),
    ...LIFECYCLE.map(({ from, kind, to }) => [from ?? '', kind, to] as const),
  ]
  return [
    insert('entry_kinds (kind, record_event, worker_only)', [...kinds, [STATEMENT, false, false]]),
    insert('record_states (state, terminal)', states),
    insert('record_transitions (from_state, kind, to_state)', ways),
  ].join('\n')
}

function insert(into: string, rows: readonly (readonly (string | boolean)[])[]): string {
  const lines = rows.map((row) => `  (${row.map(literal).join(', ')})`)
  return `insert into ${into} values\n${lines.join(',\n')};\n`
}

/** Returns an SQL literal. Names of kinds and states contain no quotes, so nothing is escaped. */
function literal(value: string | boolean): string {
  return typeof value === 'string' ? `'${value}'` : `${value}`
}
