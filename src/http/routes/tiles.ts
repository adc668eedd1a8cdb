import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { setLedgerPublic } from '../../db/ledgers/ledgers.ts'
import { ApiError } from '../../errors.ts'
import { checkpointPending } from '../../followers/checkpoints/prove-entry.ts'
import { readTile } from '../../followers/checkpoints/read-tile.ts'
import type { Caller } from '../../ledgers/caller.ts'
import { PUBLIC_LEDGERS_MAX } from '../../ledgers/limits.ts'
import { Slots } from '../../load/slots.ts'
import { watchStreams } from '../../observe/metrics/reading.ts'
import { isId, parseId, type Uuid } from '../../proof/ids.ts'
import { parseCheckpoint } from '../../proof/tree/checkpoint.ts'
import { isCovered, parseTileAddress } from '../../proof/tree/tile-address.ts'
import { sendCached, tag } from '../answers/send-cached.ts'
import { ownerOf } from '../connections/owner.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import {
  ENTRY_BUNDLES_MAX,
  ENTRY_BUNDLES_PER_LEDGER_MAX,
  TILE_CACHE_SECONDS,
  TILE_CHECKPOINT_CACHE_SECONDS,
} from '../limits.ts'
import { pathId } from '../path-id.ts'
import { idParams } from '../schemas/common.ts'
import { tilesAnswer, tilesBody } from '../schemas/ledgers.ts'
import { checkpointNote } from '../schemas/proofs.ts'
import { tileBytes, tileParams, tlogParams } from '../schemas/tiles.ts'
import type { ZodTypes } from '../zod-validation.ts'

/**
 * Serves each ledger as a C2SP tlog-tiles log. The files cover all entries up to the ledger's newest checkpoint, and
 * any client of such logs can read them. Each file is proved against the checkpoint before it is sent, because caches
 * store it for a year.
 */
export function tileRoutes(
  app: FastifyInstance,
  deps: Pick<Deps, 'readPool' | 'checkpoints' | 'reads' | 'publicLedgers' | 'metrics'>,
): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { readPool, checkpoints, publicLedgers } = deps
  const access = { scope: 'audit:read', orPublic: true } as const
  const slots = new Slots(ENTRY_BUNDLES_PER_LEDGER_MAX, ENTRY_BUNDLES_MAX)
  watchStreams(deps.metrics, 'bundles', slots)

  typed.get(
    '/tlog/:ledger/checkpoint',
    {
      config: { reads: 'primary', access, problems: ['checkpoint_pending', 'integrity_fault'] },
      schema: {
        summary: 'Get the newest checkpoint of a ledger as a tiled log',
        params: tlogParams,
        response: { 200: checkpointNote, 304: z.undefined() },
      },
    },
    async (request, reply) => {
      const log = await findLog(request)
      const note = await checkpoints.newest(log.ledgerId)
      if (note === null)
        throw checkpointPending('the first checkpoint is published within seconds of the first entry')
      reply.header('content-type', 'text/plain; charset=utf-8')
      return sendCached(
        request,
        reply,
        tag(Buffer.from(note)),
        `${log.audience}, max-age=${TILE_CHECKPOINT_CACHE_SECONDS}`,
      )
    },
  )

  typed.get(
    '/tlog/:ledger/tile/*',
    {
      config: { reads: 'replica', access, problems: ['integrity_fault'] },
      schema: {
        summary: 'Get a tile of hashes, or a bundle of entries, of a ledger as a tiled log',
        params: tileParams,
        response: { 200: tileBytes, 304: z.undefined() },
      },
    },
    async (request, reply) => {
      const address = parseTileAddress(request.params['*'])
      const log = await findLog(request)
      const note = address && (await checkpoints.newest(log.ledgerId))
      if (!address || !note || !isCovered(address, parseCheckpoint(note).checkpoint.size))
        throw new ApiError('not_found', `the newest checkpoint has no tile ${request.params['*']}`)
      const release = address.level === 'entries' ? slots.take(ownerOf(request)) : null
      try {
        const { ledgerId } = log
        const bytes = await deps.reads.of(
          request,
          reply,
          (from) => readTile(from.readPool, ledgerId, address, note),
          { ledgerId },
        )
        reply.header('content-type', 'application/octet-stream')
        return sendCached(
          request,
          reply,
          tag(bytes),
          `${log.audience}, max-age=${TILE_CACHE_SECONDS}, immutable`,
        )
      } finally {
        release?.()
      }
    },
  )

  typed.put(
    '/v1/ledgers/:id/tiles',
    {
      config: { access: 'operator', problems: ['invalid_idempotency_key', 'state_conflict'] },
      schema: {
        summary: 'Let anybody read the tiles of a ledger, or only its keys',
        params: idParams,
        body: tilesBody,
        response: { 200: tilesAnswer },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      const ledgerId = pathId('led', request.params.id)
      const { tiles } = request.body
      const outcome = await setLedgerPublic(readPool, ledgerId, tiles === 'public', PUBLIC_LEDGERS_MAX)
      if (outcome === 'absent') throw new ApiError('not_found', `there is no ledger ${request.params.id}`)
      if (outcome === 'full')
        throw new ApiError(
          'state_conflict',
          `${PUBLIC_LEDGERS_MAX} ledgers are public, the most allowed: first set the tiles of another one to \`key\``,
        )
      publicLedgers.forget()
      return { tiles }
    },
  )

  /**
   * Returns the log that the address names: the caller's own ledger or a public ledger. `audience`: the kind of caches
   * that may store its files.
   */
  async function findLog({ caller, params }: FastifyRequest<{ Params: { ledger: string } }>): Promise<{
    ledgerId: Uuid
    audience: 'public' | 'private'
  }> {
    const { ledger } = params
    const ledgerId = isId('led', ledger) ? parseId('led', ledger) : null
    const isPublic = ledgerId !== null && (await publicLedgers.has(ledgerId))
    if (ledgerId !== null && (isPublic || (caller as Caller | null)?.ledgerId === ledgerId))
      return { ledgerId, audience: isPublic ? 'public' : 'private' }
    throw new ApiError('not_found', `there is no ledger ${ledger} that this key may read`)
  }
}
