import { toHex } from '../../proof/bytes.ts'
import { compare, compareRows } from './compare.ts'
import type { Evidence } from './table.ts'

type TypeRow = { seq: number; name: string; gated: boolean; definition: Buffer; digest: Buffer }

export type TypeColumns = {
  readonly name: string
  readonly digest: string
  /** SHA-256 of the definition's bytes in hex. */
  readonly definition: string
  readonly gated: boolean
  /** True if the definition is of a gated type. null if the definition is not a JSON object. */
  readonly isDefinedGated: boolean | null
  readonly isDefinedAgentSigned: boolean | null
}

/**
 * Evidence of the table `types`. The entry signs the digest of the definition. The definition determines the other
 * columns.
 */
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
 * Returns whether the definition has a member of this name. Returns null if the definition is not a JSON object. The
 * definition may be forged here. Another check compares it with the signed digest.
 */
function hasMember(definition: Buffer, name: string): boolean | null {
  try {
    return Object.hasOwn(JSON.parse(definition.toString('utf8')) as object, name)
  } catch {
    return null
  }
}
