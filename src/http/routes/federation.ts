import type { FastifyInstance } from 'fastify'
import { introduce } from '../../outside/federation/handshake.ts'
import {
  PEER_CHECKPOINT_BYTES_MAX,
  PEER_ENTRIES_PER_TOKEN,
  PEER_INTRODUCTION_BYTES_MAX,
  PEER_REQUEST_BYTES_MAX,
  PEER_ROTATIONS_BYTES_MAX,
} from '../../outside/federation/limits.ts'
import { receiveEntries, type SentEntries } from '../../outside/federation/receive.ts'
import { receiveRotations } from '../../outside/federation/rotations.ts'
import { summarize } from '../../outside/federation/summary.ts'
import { witnessPeer } from '../../outside/federation/witness-peer.ts'
import type { Deps } from '../deps.ts'
import {
  checkpointAnswer,
  checkpointBody,
  entriesAnswer,
  entriesBody,
  introductionAnswer,
  introductionBody,
  rotationsAnswer,
  rotationsBody,
  summaryAnswer,
  summaryBody,
} from '../schemas/peers.ts'
import type { ZodTypes } from '../zod-validation.ts'

/** Serves requests from the servers of peers (docs/formats/federation.md, "Requests"). */
export function federationRoutes(app: FastifyInstance, deps: Deps): void {
  const typed = app.withTypeProvider<ZodTypes>()

  typed.post(
    '/v1/federation/peerings',
    {
      config: { access: 'introduction' },
      schema: { hide: true, body: introductionBody, response: { 200: introductionAnswer } },
      bodyLimit: PEER_INTRODUCTION_BYTES_MAX,
    },
    (request) => introduce(deps, request.peerSignature!, request.body),
  )

  typed.post(
    '/v1/federation/rotations',
    {
      config: { access: 'introduction' },
      schema: { hide: true, body: rotationsBody, response: { 200: rotationsAnswer } },
      bodyLimit: PEER_ROTATIONS_BYTES_MAX,
    },
    async (request) => ({
      envelopes: await receiveRotations(deps, request.peerSignature!, request.body.rotations),
    }),
  )

  typed.post(
    '/v1/federation/entries',
    {
      config: {
        access: 'peer',
        furtherCost: (body) => Math.floor((body as SentEntries).entries.length / PEER_ENTRIES_PER_TOKEN),
      },
      schema: { hide: true, body: entriesBody, response: { 200: entriesAnswer } },
      bodyLimit: PEER_REQUEST_BYTES_MAX,
    },
    async (request) => ({
      // The type is asserted, because the schema does not describe the contents of types and documents. They are JSON,
      // because the whole body was parsed as JSON.
      outcomes: await receiveEntries(deps, request.peer, request.body as SentEntries),
    }),
  )

  typed.post(
    '/v1/federation/summary',
    {
      config: { access: 'peer' },
      schema: { hide: true, body: summaryBody, response: { 200: summaryAnswer } },
    },
    (request) => summarize(deps, request.peer, request.body.after),
  )

  typed.post(
    '/v1/federation/checkpoint',
    {
      config: { access: 'peer' },
      schema: { hide: true, body: checkpointBody, response: { 200: checkpointAnswer } },
      bodyLimit: PEER_CHECKPOINT_BYTES_MAX,
    },
    (request) => witnessPeer(deps, request.peer, request.body),
  )
}
