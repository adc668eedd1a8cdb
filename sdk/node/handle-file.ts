import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { HANDLES_MAX, MemoryHandles } from '../notarizer/handles.ts'
import type { RecordHandle } from '../notarizer/spool.ts'
import { NO_FOLLOW, replaceFile } from './files.ts'
import { InTurn } from './in-turn.ts'
import { asSpoolError } from './spool-errors.ts'

export const HANDLES_NAME = 'handles.ndjson'
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW
/** From which the file is written anew, with the handles that are not forgotten. */
const LINES_MAX = 2 * HANDLES_MAX
const LINE = /^\["([!#-[\]-~]{1,255})","(rec_[0-9a-z]{26})"\]$/

/** Handles with their ids in a file, a line each, for the next process on the spool. */
export class HandleFile extends MemoryHandles {
  readonly #path: string
  #lines = 0
  /** A failed write may have left half a line. */
  #suspect = false
  readonly #writes = new InTurn()

  static async load(path: string): Promise<HandleFile> {
    const handles = new HandleFile(path)
    await handles.#load()
    return handles
  }

  private constructor(path: string) {
    super()
    this.#path = path
  }

  /** Lines that nobody understands are passed over: a record without its parent is better than none. */
  async #load(): Promise<void> {
    let text = ''
    try {
      text = await readFile(this.#path, { encoding: 'utf8', flag: constants.O_RDONLY | NO_FOLLOW })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    const lines = text.split('\n')
    this.#suspect = lines.pop() !== ''
    this.#lines = lines.length
    this.add(
      lines.flatMap((line): RecordHandle[] => {
        const [, handle, id] = LINE.exec(line) ?? []
        return handle === undefined || id === undefined ? [] : [[handle, id]]
      }),
    )
  }

  /** One after another: several batches may be under way. */
  override keep(found: readonly RecordHandle[]): Promise<void> {
    this.add(found)
    return this.#writes.do(() => this.#write(found))
  }

  async #write(found: readonly RecordHandle[]): Promise<void> {
    try {
      if (this.#suspect || this.#lines + found.length > LINES_MAX) await this.#rewrite()
      else await this.#append(found)
    } catch (error) {
      throw asSpoolError(error, this.#path)
    }
  }

  async #append(found: readonly RecordHandle[]): Promise<void> {
    const file = await open(this.#path, FLAGS, 0o600)
    try {
      this.#suspect = true
      await file.writeFile(format(found))
      await file.datasync()
      this.#suspect = false
      this.#lines += found.length
    } finally {
      await file.close()
    }
  }

  async #rewrite(): Promise<void> {
    await replaceFile(this.#path, format([...this.ids]))
    this.#suspect = false
    this.#lines = this.ids.size
  }
}

function format(found: readonly RecordHandle[]): string {
  return found.map((each) => `${JSON.stringify(each)}\n`).join('')
}
