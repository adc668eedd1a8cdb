import { readdir, readFile, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { SpoolError } from '../../sdk/errors.ts'
import { replaceFile } from '../../sdk/node/files.ts'
import { makeDirectory } from '../../sdk/node/make-directory.ts'
import { SpoolLock } from '../../sdk/node/spool-lock.ts'
import { toHex, utf8Encode } from '../../src/proof/bytes.ts'
import type { ProofProviders, Signer } from '../../src/proof/crypto.ts'
import { ProofError } from '../../src/proof/error.ts'
import { isFork, type SeenTree } from '../../src/proof/tree/add-checkpoint.ts'
import { type LogTree, parseLogTree } from '../../src/proof/tree/checkpoint.ts'
import { verifyCosignatures } from '../../src/proof/tree/cosignature.ts'
import { makeNoteKey, type Note, type NoteKey, parseNote } from '../../src/proof/tree/note.ts'
import { SourceError } from '../../src/verify/source.ts'
import { syncDirectory } from '../../src/verify/sync-directory.ts'
import { UsageError } from '../run.ts'
import { type Identity, newIdentity, parseIdentity, signerOf } from './identity.ts'
import { WITNESS_FORKS_STORED_MAX, WITNESS_LOCK_STALE_MS } from './limits.ts'

const IDENTITY = 'witness.json'
const NOTE_NAME = /^([0-9a-f]{64})\.note$/

/** The largest cosigned checkpoint of a log. The note includes the cosignature. */
type Cosigned = { readonly tree: LogTree; readonly note: string }

/**
 * A folder with the key of a witness, and for each log the newest cosigned checkpoint.
 *
 * Cosignatures are worthless if an older state of the folder is ever used again. Therefore only one process uses the
 * folder at a time, `storeCosigned` returns only when the data is on disk, and an incomplete folder is refused. A
 * folder that was restored as a whole is a valid past state, so its content does not reveal the restore. A checkpoint
 * with a later cosignature of this key reveals it (`isRolledBack`).
 */
export class WitnessState {
  readonly signer: Signer
  readonly key: NoteKey
  readonly #folder: string
  readonly #lock: SpoolLock
  readonly #providers: ProofProviders
  readonly #cosigned = new Map<string, Cosigned>()
  #identity: Identity
  #identityWrites: Promise<unknown> = Promise.resolve()
  #forks = new Map<string, number>()

  /**
   * Opens the folder. Throws UsageError or SourceError with a text that tells the user what to do. `name`: required for
   * a new folder. If it is given for an existing folder, it must be the stored name.
   */
  static async open(
    path: string,
    name: string | undefined,
    providers: ProofProviders,
  ): Promise<WitnessState> {
    if (makeDirectory(path)) await syncDirectory(dirname(resolve(path)))
    const folder = await realpath(path)
    const lock = await SpoolLock.acquire(folder, WITNESS_LOCK_STALE_MS).catch((error: Error) => {
      if (!(error instanceof SpoolError)) throw error
      throw new UsageError(
        `only one witness can use a folder: ${error.message.replace('the spool', 'the folder')}`,
      )
    })
    try {
      const identity = await readIdentity(folder, name)
      const state = new WitnessState(folder, lock, identity, providers)
      await state.#load()
      return state
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  private constructor(folder: string, lock: SpoolLock, identity: Identity, providers: ProofProviders) {
    this.#folder = folder
    this.#lock = lock
    this.#identity = identity
    this.#providers = providers
    this.signer = signerOf(identity, providers.sha256)
    this.key = makeNoteKey(identity.name, 'cosignature', this.signer.key, providers.sha256)
  }

  /** Returns the tree of the last cosigned checkpoint of a log, or null if none was cosigned. */
  findCosignedTree(origin: string): SeenTree | null {
    return this.#cosigned.get(this.hashOf(origin))?.tree ?? null
  }

  /** Returns the newest cosigned note of the log whose origin has this SHA-256. */
  findNote(hash: string): string | null {
    return this.#cosigned.get(hash)?.note ?? null
  }

  hashOf(origin: string): string {
    return toHex(this.#providers.sha256(utf8Encode(origin)))
  }

  /**
   * Stores a note with the log's signature and the cosignature. Returns when the note is on disk. Only then may the
   * cosignature be sent.
   */
  async storeCosigned(tree: LogTree, note: string): Promise<void> {
    const hash = this.hashOf(tree.origin)
    await this.#write(`${hash}.note`, note)
    if (!this.#identity.cosigned.includes(hash))
      await this.#writeIdentity({ cosigned: [...this.#identity.cosigned, hash] })
    this.#cosigned.set(hash, { tree, note })
  }

  /**
   * Stores a note of a log that signed two trees of the same size. The stored note and the cosigned note together
   * convict the log.
   */
  async storeFork(tree: LogTree, note: string): Promise<void> {
    const hash = this.hashOf(tree.origin)
    const kept = this.#forks.get(hash) ?? 0
    if (kept >= WITNESS_FORKS_STORED_MAX) return
    this.#forks.set(hash, kept + 1)
    await this.#write(`${hash}.fork-${tree.size}-${toHex(tree.root).slice(0, 16)}`, note)
  }

  /** Returns whether the key has cosigned more of this log than the folder contains. Once true, it stays true. */
  async isRolledBack(signed: { readonly note: Note; readonly tree: LogTree } | null): Promise<boolean> {
    if (signed === null) return false
    const { note, tree } = signed
    const hash = this.hashOf(tree.origin)
    if (this.#identity.rolledBack.includes(hash)) return true
    const seen = this.#cosigned.get(hash)?.tree ?? null
    const isKnown = seen !== null && tree.size <= seen.size && !isFork(seen, tree)
    if (isKnown || !this.#isOwn(note)) return false
    await this.#writeIdentity({ rolledBack: [...this.#identity.rolledBack, hash] })
    return true
  }

  close(): Promise<void> {
    return this.#lock.release()
  }

  #isOwn(note: Note): boolean {
    try {
      return verifyCosignatures(note, [this.key], this.#providers).length > 0
    } catch (error) {
      if (error instanceof ProofError) return false
      throw error
    }
  }

  async #load(): Promise<void> {
    const found = await readdir(this.#folder)
    for (const file of found) {
      const hash = NOTE_NAME.exec(file)?.[1]
      if (hash !== undefined) this.#cosigned.set(hash, await this.#readNote(file, hash))
      const forked = file.split('.fork-')[0]!
      if (forked !== file) this.#forks.set(forked, (this.#forks.get(forked) ?? 0) + 1)
    }
    for (const hash of this.#identity.cosigned) {
      if (!this.#cosigned.has(hash)) throw lost(join(this.#folder, `${hash}.note`), 'is gone')
    }
    // A process may have been killed after it wrote the note and before it wrote the list. Logs that are missing from
    // the list are therefore added now.
    const cosigned = [...this.#cosigned.keys()].sort()
    if (cosigned.length > this.#identity.cosigned.length) await this.#writeIdentity({ cosigned })
  }

  async #readNote(file: string, hash: string): Promise<Cosigned> {
    const path = join(this.#folder, file)
    const text = await readFile(path, 'utf8')
    try {
      const note = parseNote(text)
      const tree = parseLogTree(note.text)
      if (!this.#isOwn(note) || this.hashOf(tree.origin) !== hash) throw lost(path, 'was changed')
      return { tree, note: text }
    } catch (error) {
      if (error instanceof ProofError) throw lost(path, `was changed (${error.detail})`)
      throw error
    }
  }

  /**
   * Writes run one after another, because requests of other logs write the file too. Each write contains all earlier
   * changes.
   */
  async #writeIdentity(change: Partial<Identity>): Promise<void> {
    this.#identity = { ...this.#identity, ...change }
    const write = this.#identityWrites.then(() => this.#write(IDENTITY, formatIdentity(this.#identity)))
    this.#identityWrites = write.catch(() => {})
    await write
  }

  /** Requires the lock first. If a process was suspended for a long time, another process may have taken the folder. */
  async #write(file: string, content: string): Promise<void> {
    this.#lock.requireLock()
    await replaceFile(join(this.#folder, file), content)
    await syncDirectory(this.#folder)
    this.#lock.requireLock()
  }
}

async function readIdentity(folder: string, name: string | undefined): Promise<Identity> {
  const path = join(folder, IDENTITY)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new SourceError('io', `${path} cannot be read (${error.code})`, { cause: error })
  })
  if (text === null) return makeIdentity(folder, name)
  const identity = parseOrRefuse(path, text)
  if (name !== undefined && name !== identity.name)
    throw new UsageError(
      `${folder} belongs to the witness ${identity.name}: leave out --name, or use another folder`,
    )
  return identity
}

function parseOrRefuse(path: string, text: string): Identity {
  try {
    return parseIdentity(text)
  } catch (error) {
    throw new SourceError('not_a_ledger', `${path} was changed: ${(error as Error).message}`)
  }
}

async function makeIdentity(folder: string, name: string | undefined): Promise<Identity> {
  const others = (await readdir(folder)).filter((file) => file !== 'lock' && !file.startsWith('lock.'))
  if (others.length > 0) throw lost(join(folder, IDENTITY), 'is missing, but other files are there')
  if (name === undefined) throw new UsageError('a new folder needs --name, such as witness.example/w1')
  const identity = newIdentity(name)
  await replaceFile(join(folder, IDENTITY), formatIdentity(identity))
  await syncDirectory(folder)
  return identity
}

function formatIdentity(identity: Identity): string {
  return `${JSON.stringify(identity, null, 2)}\n`
}

function lost(path: string, what: string): SourceError {
  return new SourceError(
    'not_a_ledger',
    `${path} ${what}. This witness no longer knows what it has cosigned, so its key must sign nothing more. ${START_ANEW}`,
  )
}

export const START_ANEW =
  'What to do: start with an empty folder, which gets a new key, and give the new verifier key to everybody who relies on the old one'
