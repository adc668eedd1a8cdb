// Made by `npm run docs` from /openapi.json; not to be edited.

export type Operation = {
  readonly method: string
  readonly path: string
  /** Can be repeated without doing it twice: it only reads, or takes an Idempotency-Key. */
  readonly idempotent: boolean
}

/** The server's release that this was made from. */
export const API_VERSION = '0.1.0'

export const operations = {
  /** Whether the process answers. */
  getLivez: { method: 'GET', path: '/livez', idempotent: true },
  /** Whether it can work. */
  getReadyz: { method: 'GET', path: '/readyz', idempotent: true },
  /** The keys that sign envelopes. */
  getWellKnownTallystickKeysJson: { method: 'GET', path: '/.well-known/tallystick-keys.json', idempotent: true },
  /** Make a ledger, with its first agent and a key that may do everything. */
  postLedgers: { method: 'POST', path: '/v1/ledgers', idempotent: false },
  /** List ledgers, in the order in which they were made. */
  getLedgers: { method: 'GET', path: '/v1/ledgers', idempotent: true },
  /** A ledger. */
  getLedgersById: { method: 'GET', path: '/v1/ledgers/{id}', idempotent: true },
  /** Freeze a ledger: it is read as before, and takes no entries. */
  postLedgersByIdFreeze: { method: 'POST', path: '/v1/ledgers/{id}/freeze', idempotent: false },
  /** Let a frozen ledger take entries again. */
  postLedgersByIdUnfreeze: { method: 'POST', path: '/v1/ledgers/{id}/unfreeze', idempotent: false },
  /** Make a key that may do everything, for a ledger whose own keys are lost. */
  postLedgersByIdKeys: { method: 'POST', path: '/v1/ledgers/{id}/keys', idempotent: false },
  /** The ledger of the key. */
  getLedger: { method: 'GET', path: '/v1/ledger', idempotent: true },
  /** What was known of a ledger that is closed as restored, and what was found. */
  getLedgersByIdRestore: { method: 'GET', path: '/v1/ledgers/{id}/restore', idempotent: true },
  /** Acknowledge what is lost, and let the ledger take entries again. */
  postLedgersByIdRestore: { method: 'POST', path: '/v1/ledgers/{id}/restore', idempotent: false },
  /** Register an agent. */
  postAgents: { method: 'POST', path: '/v1/agents', idempotent: true },
  /** List agents, in the order in which they were registered. */
  getAgents: { method: 'GET', path: '/v1/agents', idempotent: true },
  /** An agent. */
  getAgentsById: { method: 'GET', path: '/v1/agents/{id}', idempotent: true },
  /** Disable an agent, and with it all of its keys; not to be undone. */
  postAgentsByIdDisable: { method: 'POST', path: '/v1/agents/{id}/disable', idempotent: true },
  /** Make an API key for an agent. */
  postKeys: { method: 'POST', path: '/v1/keys', idempotent: true },
  /** List API keys, in the order in which they were made. */
  getKeys: { method: 'GET', path: '/v1/keys', idempotent: true },
  /** An API key. */
  getKeysById: { method: 'GET', path: '/v1/keys/{id}', idempotent: true },
  /** Give an API key a new secret; those before stay valid for a while. */
  postKeysByIdRotate: { method: 'POST', path: '/v1/keys/{id}/rotate', idempotent: false },
  /** Revoke an API key; every server refuses it within 5 s. */
  postKeysByIdRevoke: { method: 'POST', path: '/v1/keys/{id}/revoke', idempotent: true },
  /** Limit the requests of a ledger’s keys together. */
  putLedgersByIdRateLimit: { method: 'PUT', path: '/v1/ledgers/{id}/rate-limit', idempotent: false },
  /** Limit the requests of an API key. */
  putKeysByIdRateLimit: { method: 'PUT', path: '/v1/keys/{id}/rate-limit', idempotent: false },
  /** Register a type, for good; 200 where the ledger has just this type already. */
  postTypes: { method: 'POST', path: '/v1/types', idempotent: true },
  /** List types, in the order of their names. */
  getTypes: { method: 'GET', path: '/v1/types', idempotent: true },
  /** A type with its definition. */
  getTypesByNameByVersion: { method: 'GET', path: '/v1/types/{name}/{version}', idempotent: true },
  /** What the type says of a payload or of evidence; writes nothing. */
  postTypesByNameByVersionPreview: { method: 'POST', path: '/v1/types/{name}/{version}/preview', idempotent: false },
  /** What a definition that is not registered says of a payload or of evidence; writes nothing. */
  postTypesPreview: { method: 'POST', path: '/v1/types/preview', idempotent: false },
  /** Notarize one record, or create one of a gated type. */
  postRecords: { method: 'POST', path: '/v1/records', idempotent: true },
  /** Records in the order of the chain, newest first. */
  getRecords: { method: 'GET', path: '/v1/records', idempotent: true },
  /** Notarize many records in one entry, all or nothing. */
  postRecordsBatch: { method: 'POST', path: '/v1/records/batch', idempotent: true },
  /** Take the work on. */
  postRecordsByIdActivate: { method: 'POST', path: '/v1/records/{id}/activate', idempotent: true },
  /** Deliver the work, with evidence. */
  postRecordsByIdCompletions: { method: 'POST', path: '/v1/records/{id}/completions', idempotent: true },
  /** Judge the completion. */
  postRecordsByIdVerdict: { method: 'POST', path: '/v1/records/{id}/verdict', idempotent: true },
  /** Ask for a revision. */
  postRecordsByIdRevision: { method: 'POST', path: '/v1/records/{id}/revision', idempotent: true },
  /** Cancel what is not delivered. */
  postRecordsByIdCancel: { method: 'POST', path: '/v1/records/{id}/cancel', idempotent: true },
  /** Overturn a rejection. */
  postRecordsByIdOverturn: { method: 'POST', path: '/v1/records/{id}/overturn', idempotent: true },
  /** Erase a payload, with its salt, metadata and references; not to be undone. */
  deleteRecordsByIdPayload: { method: 'DELETE', path: '/v1/records/{id}/payload', idempotent: true },
  /** Erase the evidence of a completion, with its salt; not to be undone. */
  deleteRecordsByIdCompletionsByCompletionEvidence: { method: 'DELETE', path: '/v1/records/{id}/completions/{completion}/evidence', idempotent: true },
  /** Erase the values that were compared, with its salt; not to be undone. */
  deleteRecordsByIdCompletionsByCompletionValues: { method: 'DELETE', path: '/v1/records/{id}/completions/{completion}/values', idempotent: true },
  /** Erase the reason that a step gives, with its salt; not to be undone. */
  deleteRecordsByIdEntriesBySeqReason: { method: 'DELETE', path: '/v1/records/{id}/entries/{seq}/reason', idempotent: true },
  /** A record as it stands. */
  getRecordsById: { method: 'GET', path: '/v1/records/{id}', idempotent: true },
  /** A record's own entries, oldest first, with the documents of its steps. */
  getRecordsByIdEntries: { method: 'GET', path: '/v1/records/{id}/entries', idempotent: true },
  /** A record, its ancestors, and its children, newest first. */
  getRecordsByIdTree: { method: 'GET', path: '/v1/records/{id}/tree', idempotent: true },
  /** Entries of the chain in order, one a line. */
  getEntries: { method: 'GET', path: '/v1/entries', idempotent: true },
  /** The whole ledger, for `tallystick verify`. */
  getExport: { method: 'GET', path: '/v1/export', idempotent: true },
  /** The newest checkpoint. */
  getCheckpointsLatest: { method: 'GET', path: '/v1/checkpoints/latest', idempotent: true },
  /** The checkpoint of a size. */
  getCheckpointsBySize: { method: 'GET', path: '/v1/checkpoints/{size}', idempotent: true },
  /** List checkpoints, newest first. */
  getCheckpoints: { method: 'GET', path: '/v1/checkpoints', idempotent: true },
  /** Prove that the ledger of one size begins with that of another. */
  getCheckpointsConsistency: { method: 'GET', path: '/v1/checkpoints/consistency', idempotent: true },
  /** Prove an entry of a record, the first one by default, in a checkpoint. */
  getRecordsByIdProof: { method: 'GET', path: '/v1/records/{id}/proof', idempotent: true },
  /** Prove an entry in a checkpoint. */
  getEntriesBySeqProof: { method: 'GET', path: '/v1/entries/{seq}/proof', idempotent: true },
  /** Have the whole ledger verified in the background; while one audit is open, that one is answered. */
  postAudits: { method: 'POST', path: '/v1/audits', idempotent: false },
  /** List audits, newest first; of those that ended, the last hundred are kept. */
  getAudits: { method: 'GET', path: '/v1/audits', idempotent: true },
  /** An audit. */
  getAuditsById: { method: 'GET', path: '/v1/audits/{id}', idempotent: true },
  /** The JSON Schema of what a statement of a kind says. */
  getPredicatesByKindV1: { method: 'GET', path: '/predicates/{kind}/v1', idempotent: true },
  /** This document: every address, what it takes and answers. */
  getOpenapiJson: { method: 'GET', path: '/openapi.json', idempotent: true },
  /** This document, for people. */
  getDocs: { method: 'GET', path: '/docs', idempotent: true },
  /** The script of /docs. */
  getDocsScalarJs: { method: 'GET', path: '/docs/scalar.js', idempotent: true },
} as const satisfies Record<string, Operation>
