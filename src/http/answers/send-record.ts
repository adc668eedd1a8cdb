import type { FastifyReply, FastifyRequest } from 'fastify'
import { getAnswerOfEntry, type RecordJson } from '../../records/read/read.ts'
import type { Deps } from '../deps.ts'
import { markReplayed } from '../idempotency.ts'
import { etagOf } from './conditions.ts'
import { sendJson } from './send-json.ts'

type ReadDeps = Pick<Deps, 'readPool' | 'lookups' | 'envelopeKeys'>

/**
 * Sends the record that the request made or changed. If the request repeats an earlier request, sends the record as it
 * was after that earlier request.
 */
export function sendRecord(
  deps: ReadDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  result: RecordJson | { readonly replayedSeq: number },
): FastifyReply | Promise<FastifyReply> {
  if ('record' in result) return sendJson(reply.header('etag', etagOf(result.version)), result.record)
  return sendReplay(deps, request, reply, result.replayedSeq)
}

/** Sends the answer that an earlier request got. `seq`: position of the entry that the earlier request wrote. */
export async function sendReplay(
  deps: ReadDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  seq: number,
): Promise<FastifyReply> {
  const { record, version } = await getAnswerOfEntry(deps, request.caller.ledgerId, seq)
  if (version !== null) reply.header('etag', etagOf(version))
  return sendJson(markReplayed(reply, true), record)
}
