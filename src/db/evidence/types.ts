import { toHex } from '../../proof/bytes.ts'
import { compare, compareRows } from './compare.ts'
import type { Evidence } from './table.ts'

type TypeRow = { seq: number; name: string; gated: boolean; definition: Buffer; digest: Buffer }

export type TypeColumns = {
  readonly name: string
  readonly digest: string
  /** Hash of the definition's bytes. */
  readonly definition: string
  readonly gated: boolean
  /** Whether the definition is of a gated type; null: the definition is no JSON object. */
  readonly isDefinedGated: boolean | null
  readonly isDefinedAgentSigned: boolean | null
}

/** Compares types. The entry signs the digest of the definition. The definition determines the rest of the row. */
export const TYPES: Evidence<TypeRow, TypeColumns> = {
  table: 'types',
  sql: `select registered_seq as seq, name, gated, definition, digest
    from tallystick.types where ledger_id = $1 order by registered_seq, name`,
  columns: ({ name, gated, definition, digest }, { sha256 }) => ({
    name,
    digest: toHex(digest),
    definition: toHex(sha256(definition)),
    gated,
    isDefinedGated: hasMember(definition, 'evidenceSchema'),
    isDefinedAgentSigned: hasMember(definition, 'agentSigned'),
  }),
  verify({ statement: { kind, subjects, predicate } }, rows) {
    const [{ name, sha256 }] = subjects
    const signed = kind === 'type-registered' ? [{ name, digest: sha256, definition: sha256 }] : []
    compareRows<Partial<TypeColumns>>('types', rows, signed)
    for (const { gated, isDefinedGated, isDefinedAgentSigned } of rows) {
      compare('types', 'gated', gated, isDefinedGated)
      compare('types', 'definition', isDefinedAgentSigned, predicate['agentSigned'] === true)
    }
  },
}

/**
 * Whether the definition has a member of this name; null: it is no JSON object. The text may be forged here: another
 * check compares it with the signed digest.
 */
function hasMember(definition: Buffer, name: string): boolean | null {
  try {
    return Object.hasOwn(JSON.parse(definition.toString('utf8')) as object, name)
  } catch {
    return null
  }
}
