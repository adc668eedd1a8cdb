import { MemoryHandles } from './handles.ts'
import type { Item } from './items.ts'
import { ITEM_BYTES_MAX } from './items.ts'
import type { Segment, Spool, SpooledBatch } from './spool.ts'

/** Stores waiting records in memory. The records are lost when the process ends. */
export class Memory implements Spool {
  readonly isDurable: boolean = false
  readonly handles: MemoryHandles = new MemoryHandles()
  readonly recordsMax: number
  readonly bytesMax: number
  usedRecords = 0
  usedBytes = 0

  constructor(recordsMax: number, bytesMax: number) {
    this.recordsMax = recordsMax
    this.bytesMax = bytesMax
  }

  get hasRoom(): boolean {
    return this.usedRecords < this.recordsMax && this.usedBytes + ITEM_BYTES_MAX <= this.bytesMax
  }

  recover() {
    return { batches: [], errors: [] }
  }

  begin(idempotencyKey: string, item: Item, bytes: number): SpooledBatch {
    const batch = new MemoryBatch(this, idempotencyKey)
    batch.append(item, bytes)
    return batch
  }

  /** Stores nothing. Callers get refused records by `onRefused`. */
  async refuse(): Promise<void> {}

  async close(): Promise<void> {}
}

class MemoryBatch implements SpooledBatch {
  readonly #memory: Memory
  readonly #items: Item[] = []
  #segments: readonly Segment[]
  #bytes = 0

  constructor(memory: Memory, idempotencyKey: string) {
    this.#memory = memory
    this.#segments = [{ idempotencyKey, items: this.#items }]
  }

  get records(): number {
    return this.#segments.reduce((sum, { items }) => sum + items.length, 0)
  }

  append(item: Item, bytes: number): void {
    this.#items.push(item)
    this.#bytes += bytes
    this.#memory.usedRecords++
    this.#memory.usedBytes += bytes
  }

  seal(): void {}

  async read(): Promise<readonly Segment[]> {
    return this.#segments
  }

  async replace(segments: readonly Segment[]): Promise<void> {
    this.#memory.usedRecords -= this.records
    this.#segments = segments
    this.#memory.usedRecords += this.records
  }

  async remove(): Promise<void> {
    this.#memory.usedRecords -= this.records
    this.#memory.usedBytes -= this.#bytes
    this.#segments = []
  }
}
