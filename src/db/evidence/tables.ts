import type { Sha256 } from '../../proof/crypto.ts'
import type { VerifiedEntry } from '../../proof/entry/verify-entry.ts'
import { AGENT_SIGNING_KEYS, REVOKED_SIGNING_KEYS } from './agent-signing-keys.ts'
import { AGENTS, DISABLED_AGENTS } from './agents.ts'
import { API_KEYS, REVOKED_API_KEYS } from './api-keys.ts'
import { BATCH_CHUNKS, BATCH_KEYS } from './batch-chunks.ts'
import { CLOSURES } from './closures.ts'
import { compareRows } from './compare.ts'
import { DOCUMENTS } from './documents.ts'
import { type EntryRowColumns, verifyEntryRow } from './entries.ts'
import { ERASURES } from './erasures.ts'
import { IDEMPOTENCY_KEYS } from './idempotency-keys.ts'
import { type LedgerColumns, signedLedgers } from './ledgers.ts'
import { OFFERS } from './offers.ts'
import { RECEIVED_DOCUMENTS, RECEIVED_ENTRIES } from './received.ts'
import { RECORDS } from './records.ts'
import { HOLDS, LIFTED_HOLDS, RETENTION_RULES } from './retention.ts'
import { STATEMENTS } from './statements.ts'
import type { Evidence } from './table.ts'
import { TYPES } from './types.ts'

/**
 * Tables whose rows are explained by single entries, in the order of comparison.
 *
 * Add a new table here. Its rows are then read, compared, and checked for rows that belong to no ledger.
 */
export const EVIDENCE = {
  offers: OFFERS,
  received: RECEIVED_ENTRIES,
  receivedDocuments: RECEIVED_DOCUMENTS,
  records: RECORDS,
  chunks: BATCH_CHUNKS,
  chunkKeys: BATCH_KEYS,
  documents: DOCUMENTS,
  agents: AGENTS,
  keys: API_KEYS,
  disabledAgents: DISABLED_AGENTS,
  revokedKeys: REVOKED_API_KEYS,
  signingKeys: AGENT_SIGNING_KEYS,
  revokedSigningKeys: REVOKED_SIGNING_KEYS,
  types: TYPES,
  erasures: ERASURES,
  rules: RETENTION_RULES,
  holds: HOLDS,
  liftedHolds: LIFTED_HOLDS,
  closures: CLOSURES,
  statements: STATEMENTS,
  idempotencyKeys: IDEMPOTENCY_KEYS,
} as const

type Tables = typeof EVIDENCE
export type EvidenceName = keyof Tables
export const EVIDENCE_NAMES = Object.keys(EVIDENCE) as EvidenceName[]

export type EvidenceRow<Name extends EvidenceName> = Parameters<Tables[Name]['columns']>[0]

/**
 * All columns that the database has about one entry and about what the entry has made. They are passed to the thread
 * that compares them.
 */
export type EntryColumns = EntryRowColumns & {
  readonly [Name in EvidenceName]: readonly ReturnType<Tables[Name]['columns']>[]
} & {
  /** Columns of the ledger if this is the ledger's first entry. null for all other entries. */
  readonly ledger: LedgerColumns | null
}

/** Compares all columns with the entry. Throws `columns_contradict_entries` with the name of the column. */
export function verifyColumns(entry: VerifiedEntry, columns: EntryColumns, sha256: Sha256): void {
  verifyEntryRow(entry, columns, sha256)
  compareRows('ledgers', columns.ledger ? [columns.ledger] : [], signedLedgers(entry.statement, sha256))
  for (const name of EVIDENCE_NAMES)
    (EVIDENCE[name] as Evidence<never, unknown>).verify(entry, columns[name], sha256)
}
