import {
  BODIES_BYTES_MAX,
  READ_ANSWERS_BYTES_MAX,
  UNPROVEN_BYTES_SHARE,
  WRITE_ANSWERS_BYTES_MAX,
} from './limits.ts'
import { Shares } from './shares.ts'

/** Limits of the memory that a process uses because clients read or send slowly. */
export type ByteBudgets = {
  /** Bytes of answers to GET that clients have not read yet, and pending bytes of streams. */
  readonly reads: Shares
  /**
   * Bytes of answers to methods other than GET that clients have not read yet. These answers have a budget of their
   * own, so that readers cannot block writers.
   */
  readonly writes: Shares
  /** Bytes of bodies that are arriving or have not been processed yet. */
  readonly bodies: Shares
}

export function makeByteBudgets(): ByteBudgets {
  return {
    reads: makeByteBudget(READ_ANSWERS_BYTES_MAX),
    writes: makeByteBudget(WRITE_ANSWERS_BYTES_MAX),
    bodies: makeByteBudget(BODIES_BYTES_MAX),
  }
}

/**
 * Makes a budget for bytes that are in memory because of clients, shared by owners. An owner is a ledger, the peers of
 * a ledger, or the operator.
 */
export function makeByteBudget(max: number): Shares {
  return new Shares({ rule: 'rest', max, unprovenMax: max * UNPROVEN_BYTES_SHARE })
}
