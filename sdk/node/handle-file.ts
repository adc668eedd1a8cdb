import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { HANDLES_MAX, MemoryHandles } from '../notarizer/handles.ts'
import type { RecordHandle } from '../notarizer/spool.ts'
import { NO_FOLLOW, replaceFile } from './files.ts'
import type { Reserve } from './reserve.ts'
import { SerialTasks } from './serial-tasks.ts'
import { asSpoolError, isFull } from './spool-errors.ts'

export const HANDLES_NAME = 'handles.ndjson'
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW
/** Maximum number of lines in the file. When it is reached, the file is rewritten with only the newest handles. */
const LINES_MAX = 2 * HANDLES_MAX
const LINE = /^\["([!#-[\]-~]{1,255})","(rec_[0-9a-z]{26})"\]$/

/** Stores handles with their record ids in a file, one per line. The next process that opens the spool reads them. */
export class HandleFile extends MemoryHandles {
  readonly #path: string
  readonly #reserve: Reserve
  #lines = 0
  /** True if the file may end with half a line, or may not be on disk. */
  #suspect = false
  readonly #writes = new SerialTasks()

  static async load(path: string, reserve: Reserve): Promise<HandleFile> {
    const handles = new HandleFile(path, reserve)
    await handles.#load()
    return handles
  }

  private constructor(path: string, reserve: Reserve) {
    super()
    this.#path = path
    this.#reserve = reserve
  }

  /** Reads the file. Unreadable lines are skipped, because a record without its parent is better than no record. */
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

  /** Stores handles. Writes run one after the other, because several batches may be sent at the same time. */
  override keep(found: readonly RecordHandle[]): Promise<void> {
    this.add(found)
    return this.#writes.do(() => this.#write(found))
  }

  async #write(found: readonly RecordHandle[]): Promise<void> {
    try {
      const isDue = this.#suspect || this.#lines + found.length > LINES_MAX
      if (!isDue || !(await this.#rewrite())) await this.#reserve.lend(() => this.#append(found))
    } catch (error) {
      throw asSpoolError(error, this.#path)
    }
  }

  async #append(found: readonly RecordHandle[]): Promise<void> {
    const file = await open(this.#path, FLAGS, 0o600)
    try {
      const { size } = await file.stat()
      try {
        await file.writeFile((this.#suspect ? '\n' : '') + format(found))
        await file.datasync()
      } catch (error) {
        this.#suspect = true
        await file.truncate(size)
        throw error
      }
      this.#lines += found.length
    } finally {
      await file.close()
    }
  }

  /** Rewrites the file with the newest handles. Returns false if the disk has no room for the new file. */
  async #rewrite(): Promise<boolean> {
    try {
      await this.#reserve.lend(() => replaceFile(this.#path, format([...this.ids])))
    } catch (error) {
      if (isFull(error)) return false
      throw error
    }
    this.#suspect = false
    this.#lines = this.ids.size
    return true
  }
}

function format(found: readonly RecordHandle[]): string {
  return found.map((each) => `${JSON.stringify(each)}\n`).join('')
}
