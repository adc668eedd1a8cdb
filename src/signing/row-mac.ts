import type { MasterKey } from './master-key.ts'

/** Computes and checks MACs of rows in a database to which others can write. */
export type RowMac<Row> = {
  of(row: Row): Buffer
  /** Returns whether a process with the master key made exactly this row. `mac` is null if the row has no MAC. */
  isOf(row: Row, mac: Uint8Array | null): boolean
}

export type MacKey = Pick<MasterKey, 'mac' | 'isMac'>

/**
 * Returns the MAC functions of one table. `context` names the table, so that a MAC is valid in this table only.
 * `textOf` returns all values of the row that code relies on, always in the same form.
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
