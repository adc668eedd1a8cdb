import type { MasterKey } from './master-key.ts'

/** Authenticates rows of a database that others can write to. */
export type RowMac<Row> = {
  of(row: Row): Buffer
  /** Returns whether a process with the master key made exactly this row. `mac` null: the row has no MAC. */
  isOf(row: Row, mac: Uint8Array | null): boolean
}

export type MacKey = Pick<MasterKey, 'mac' | 'isMac'>

/**
 * Makes the MACs of one table. `context` names the table, so that a MAC is valid in this table only. `textOf` returns
 * everything in the row that code relies on, always in the same form.
 */
export function makeRowMac<Row>(
  masterKey: MacKey,
  context: string,
  textOf: (row: Row) => string,
): RowMac<Row> {
  return {
    of: (row) => masterKey.mac(textOf(row), context),
    isOf: (row, mac) => mac !== null && masterKey.isMac(mac, textOf(row), context),
  }
}
