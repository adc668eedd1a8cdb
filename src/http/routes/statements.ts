import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Db } from '../../db/connect/client.ts'
import type { StatementRow } from '../../db/ledgers/statements.ts'
import { findStatement, listStatements } from '../../db/ledgers/statements.ts'
import { ApiError } from '../../errors.ts'
import { proveEntry } from '../../followers/checkpoints/prove-entry.ts'
import { receiptOf, receivedStatement } from '../../followers/checkpoints/prove-receipt.ts'
import { findPolicy, setPolicy } from '../../ledgers/statements/policy.ts'
import { registerStatement } from '../../ledgers/statements/register-statement.ts'
import { scopeOfEntry } from '../../proof/entry/entry-scopes.ts'
import { formatId, isId, parseId } from '../../proof/ids.ts'
import { ENVELOPE_BYTES_MAX } from '../../proof/limits.ts'
import { encodeCoseKey, encodeCoseKeySet } from '../../proof/receipt/cose-key.ts'
import { asksForJson } from '../answers/accept.ts'
import { listTag, pageLimit, parseCursor, toPage } from '../answers/page.ts'
import type { Deps } from '../deps.ts'
import { refuseIdempotencyKey } from '../idempotency.ts'
import { STATEMENT_WAIT_SECONDS_DEFAULT } from '../limits.ts'
import { COSE_TYPE, type CoseBody } from '../plugins/json-body.ts'
import { idParams } from '../schemas/common.ts'
import { coseBytes } from '../schemas/receipts.ts'
import {
  cborBytes,
  coseStatement,
  policyBody,
  policyView,
  registeredAnswer,
  registeredQuery,
  registerQuery,
  scittKeyParams,
  statementPage,
  statementsCursor,
  statementsQuery,
  statementView,
} from '../schemas/statements.ts'
import type { CheckpointWaits } from '../tails/checkpoint-waits.ts'
import type { ZodTypes } from '../zod-validation.ts'

const WRITE = { scope: scopeOfEntry('statement-registered') } as const
const READ = { scope: ['statements:write', 'audit:read', 'records:read'] } as const

/**
 * Registers and serves Signed Statements of other issuers, as the SCITT Reference APIs define it
 * (docs/formats/registered-statements.md). Also serves the registration policy.
 */
export function statementRoutes(app: FastifyInstance, deps: Deps, waits: CheckpointWaits): void {
  const typed = app.withTypeProvider<ZodTypes>()
  const { noteKey } = deps

  typed.post(
    '/entries',
    {
      config: {
        access: WRITE,
        scrapi: true,
        problems: [
          'statement_invalid',
          'statement_rejected',
          'no_registration_policy',
          'policy_changed',
          'statement_exists',
          'invalid_idempotency_key',
          'integrity_fault',
        ],
      },
      schema: {
        summary:
          'Register a Signed Statement (SCRAPI): answers its receipt, or 303 while no checkpoint covers it; JSON on request',
        querystring: registerQuery,
        body: coseStatement,
        response: { 200: registeredAnswer, 201: registeredAnswer, 303: z.undefined() },
      },
      bodyLimit: ENVELOPE_BYTES_MAX,
    },
    async (request, reply) => {
      refuseIdempotencyKey(request)
      const { bytes } = request.body as unknown as CoseBody
      const { row, existing } = await registerStatement(deps, request.caller, bytes)
      reply.header('location', locationOf(row))
      const status = existing ? 200 : 201
      if (asksForJson(request.headers.accept)) return reply.code(status).send(render(row))
      const seconds = request.query.wait ?? STATEMENT_WAIT_SECONDS_DEFAULT
      const found = await receiptWithin(request, reply, row, Number(seconds))
      if (found === null) return reply.code(303).header('retry-after', 1).send()
      return sendCose(reply.code(status), found.receipt)
    },
  )

  typed.get(
    '/entries/:id',
    {
      config: { reads: 'primary', access: READ, scrapi: true, problems: ['integrity_fault'] },
      schema: {
        summary: 'Get the receipt of a registered statement (SCRAPI); 202 while no checkpoint covers it yet',
        params: idParams,
        querystring: registeredQuery,
        response: { 200: coseBytes, 202: z.undefined() },
      },
    },
    async (request, reply) => {
      const row = await getStatement(deps.readPool, request)
      const { wait = '0', statement } = request.query
      const found = await receiptWithin(request, reply, row, Number(wait))
      reply.header('location', locationOf(row))
      if (found === null) return reply.code(202).header('retry-after', 1).send()
      return sendCose(
        reply,
        statement === 'true' ? receivedStatement(found.proof, found.receipt) : found.receipt,
      )
    },
  )

  typed.get(
    '/.well-known/scitt-keys',
    {
      config: { reads: 'nothing', access: 'public', scrapi: true },
      schema: {
        summary: 'Get the keys of receipts as a COSE Key Set (SCRAPI)',
        response: { 200: cborBytes },
      },
    },
    async (_request, reply) => sendCbor(reply, encodeCoseKeySet([noteKey])),
  )

  typed.get(
    '/.well-known/scitt-keys/:kid',
    {
      config: { reads: 'nothing', access: 'public', scrapi: true },
      schema: {
        summary: 'Get a key of receipts as a COSE Key, by its kid in base64url (SCRAPI)',
        params: scittKeyParams,
        response: { 200: cborBytes },
      },
    },
    async (request, reply) => {
      if (request.params.kid !== Buffer.from(noteKey.kid).toString('base64url'))
        throw new ApiError('not_found', 'no receipt of this server is signed by that key')
      return sendCbor(reply, encodeCoseKey(noteKey))
    },
  )

  typed.get(
    '/v1/statements',
    {
      config: { reads: 'replica', access: READ },
      schema: {
        summary: 'List registered statements, newest first, by issuer and subject',
        querystring: statementsQuery,
        response: { 200: statementPage },
      },
    },
    async (request, reply) => {
      const { issuer = null, subject = null } = request.query
      const limit = pageLimit(request.query)
      const list = listTag(request)
      const before = parseCursor(list, request.query, statementsCursor)?.[0] ?? null
      const page = { issuer, subject, before, limit: limit + 1 }
      const rows = await deps.reads.of(request, reply, ({ readPool }) =>
        listStatements(readPool, request.caller.ledgerId, page),
      )
      return toPage(list, rows, limit, render, ({ seq }) => [seq])
    },
  )

  typed.get(
    '/v1/statements/:id',
    {
      config: { reads: 'replica', access: READ },
      schema: { summary: 'Get a registered statement', params: idParams, response: { 200: statementView } },
    },
    (request, reply) =>
      deps.reads.of(request, reply, async ({ readPool }) => render(await getStatement(readPool, request))),
  )

  typed.put(
    '/v1/registration-policy',
    {
      config: {
        access: { scope: scopeOfEntry('registration-policy-set') },
        problems: ['invalid_idempotency_key', 'integrity_fault'],
      },
      schema: {
        summary:
          'Set which issuers’ statements the ledger registers; the policy becomes an entry of the ledger',
        body: policyBody,
        response: { 200: policyView },
      },
    },
    async (request) => {
      refuseIdempotencyKey(request)
      return setPolicy(deps, request.caller, request.body)
    },
  )

  typed.get(
    '/v1/registration-policy',
    {
      config: {
        reads: 'replica',
        access: { scope: [...READ.scope, scopeOfEntry('registration-policy-set')] },
        problems: ['not_found', 'integrity_fault'],
      },
      schema: { summary: 'Get the registration policy of the ledger', response: { 200: policyView } },
    },
    (request, reply) =>
      deps.reads.of(request, reply, async (from) => {
        const policy = await findPolicy(from, request.caller.ledgerId)
        if (policy) return policy
        throw new ApiError('not_found', 'the ledger has no registration policy')
      }),
  )

  async function getStatement(db: Db, request: FastifyRequest): Promise<StatementRow> {
    const { id } = request.params as { readonly id: string }
    const row = isId('stm', id)
      ? await findStatement(db, request.caller.ledgerId, { id: parseId('stm', id) })
      : null
    if (row) return row
    throw new ApiError('not_found', `the ledger has no statement ${id}`)
  }

  /**
   * Returns the proof and receipt of a statement. Returns null if no checkpoint covers the statement in time, or if
   * too many requests wait for a checkpoint.
   */
  async function receiptWithin(
    request: FastifyRequest,
    reply: FastifyReply,
    row: StatementRow,
    seconds: number,
  ) {
    try {
      const prove = () =>
        proveEntry(deps, request.caller.ledgerId, row.seq, { size: null, cosignatures: null })
      const proof = (await waits.until(request, reply, seconds * 1_000, prove))!
      return { proof, receipt: receiptOf(proof, noteKey) }
    } catch (error) {
      if (error instanceof ApiError && (error.code === 'checkpoint_pending' || error.code === 'overloaded'))
        return null
      throw error
    }
  }

  function locationOf({ statementId }: StatementRow): string {
    return `${deps.publicUrl}/entries/${formatId('stm', statementId)}`
  }
}

function render(row: StatementRow) {
  return {
    id: formatId('stm', row.statementId),
    seq: row.seq,
    leaf: row.leaf.toString('hex'),
    issuer: row.issuer,
    subject: row.subject,
    contentType: row.contentType,
    kid: row.kid.toString('hex'),
    actor: formatId('agt', row.actorId),
    registeredAt: row.registeredAt.toISOString(),
  }
}

function sendCose(reply: FastifyReply, bytes: Uint8Array): FastifyReply {
  return reply.header('content-type', COSE_TYPE).send(Buffer.from(bytes))
}

function sendCbor(reply: FastifyReply, bytes: Uint8Array): FastifyReply {
  return reply.header('content-type', 'application/cbor').send(Buffer.from(bytes))
}
