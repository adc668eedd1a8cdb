import type { MasterKey } from './master-key.ts'

/** Authenticates rows: they come from a database that others can write to. */
export type RowMac<Row> = {
  of(row: Row): Buffer
  /** Whether a process that has the master key made the row as it is; null: a row that has no MAC. */
  isOf(row: Row, mac: Uint8Array | null): boolean
}

export type MacKey = Pick<MasterKey, 'mac' | 'isMac'>

/** `context`: table of the rows, so that the MAC of one is no other's. `textOf`: all that anybody goes by, in one form. */
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
