import { COSIGNED_NOTE } from '../chain/checkpoints.ts'

/*
 * Reads checkpoints and the stored tree. src/verify/tree-collector.ts compares them with the tree that it builds from
 * the entries.
 */

export type AuditedCheckpoint = { size: number; root: Buffer; chain: Buffer; note: string }

export const CHECKPOINTS_BY_SIZE = `
  select size, root, chain, ${COSIGNED_NOTE} as note from tallystick.checkpoints c where ledger_id = $1 order by size`

export type AuditedTile = { level: number; tileIndex: number; hashes: Buffer }

export const TILES_IN_ORDER = `
  select level, tile_index, hashes from tallystick.tree_tiles where ledger_id = $1 order by level, tile_index`
