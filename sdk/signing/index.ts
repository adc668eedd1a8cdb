import { toBase64, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import type { SignatureAlgorithm } from '../../src/proof/crypto.ts'
import { encodeEnvelope, encodeProtected, toBeSigned } from '../../src/proof/envelope/cose.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { keyThumbprint } from '../../src/proof/keys.ts'
import { agentKeyText } from '../../src/proof/statement/agent-key.ts'
import { buildStatement } from '../../src/proof/statement/statement.ts'
import type { Bytes } from '../bytes.ts'
import { UsageError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { type Operation, operations } from '../generated/operations.ts'
import { wrongServer } from '../http/answers.ts'
import type { Call, RequestSigner, Transport } from '../http/transport.ts'
import { sha256 } from './parts.ts'
import { makePrivateKey, type PrivateKey, readPrivateKey } from './private-key.ts'
import { ofBatch, ofRecord, ofStep, type Step, type TypeFacts, type Unsigned } from './statements.ts'

export { makePrivateKey }

export type AgentSignerOptions = {
  /** Private key in PKCS #8, as PEM or DER. The algorithm is Ed25519 or P-256. */
  readonly pkcs8?: Bytes | string | undefined
  /** The 32 bytes of an Ed25519 private key (RFC 8032), in place of `pkcs8`. */
  readonly seed?: Bytes | undefined
}

/**
 * Returns a signer that signs an agent's entries with the agent's own key. If the key is required, nobody else can act
 * in the agent's name, not even the server's operator.
 *
 *     const signer = await agentSigner({ pkcs8: await readFile('agent.pem', 'utf8') })
 *     const tallystick = new Tallystick({ signer })
 *
 * The client and its notarizer sign records, batches and steps of gated records. A step is signed against the current
 * record, so the API key also needs `records:read` or `records:read:own`. Throws UsageError for an invalid key.
 */
export async function agentSigner(options: AgentSignerOptions): Promise<AgentSigner> {
  return new AgentSigner(await readPrivateKey(options))
}

/** The ledger, its issuer and the agent to which the API key belongs, as the server reports them. */
type Identity = {
  readonly ledger: string
  readonly issuer: string
  readonly agent: string
  readonly key: string
}

const STEPS: ReadonlyMap<Operation, Step> = new Map<Operation, Step>([
  [operations.postRecordsByIdActivate, 'activate'],
  [operations.postRecordsByIdCompletions, 'completions'],
  [operations.postRecordsByIdVerdict, 'verdict'],
  [operations.postRecordsByIdRevision, 'revision'],
  [operations.postRecordsByIdCancel, 'cancel'],
  [operations.postRecordsByIdOverturn, 'overturn'],
])

export class AgentSigner implements RequestSigner {
  readonly #private: PrivateKey
  readonly #identities = new WeakMap<Transport, Promise<Identity>>()
  readonly #types = new WeakMap<Transport, Map<string, Promise<TypeFacts>>>()
  /** RFC 9679 thumbprint, lower-case hex. */
  readonly kid: string
  readonly alg: SignatureAlgorithm
  /** DER SubjectPublicKeyInfo, base64. */
  readonly spki: string

  constructor(key: PrivateKey) {
    this.#private = key
    this.kid = toHex(keyThumbprint(sha256, key.key))
    this.alg = key.key.alg
    this.spki = toBase64(key.key.spki)
  }

  /**
   * Returns the request for `agents.registerSigningKey`.
   *
   * - `endorsedBy`: a signer with a current key of the agent. Absent for the agent's first key.
   * - `required`: if true, the ledger from then on accepts only entries that the agent has signed. This is final.
   */
  async registration(
    { ledger, agent }: { readonly ledger: string; readonly agent: string },
    {
      required = false,
      endorsedBy,
    }: { readonly required?: boolean; readonly endorsedBy?: AgentSigner | undefined } = {},
  ): Promise<api.PostAgentsByIdSigningKeysBody> {
    const { kid, alg, spki } = this
    const text = agentKeyText({ ledger, agent, kid, required })
    const proof = toBase64(await this.#private.sign(text))
    return {
      alg,
      spki,
      proof,
      required,
      ...(endorsedBy && {
        endorsement: { kid: endorsedBy.kid, signature: toBase64(await endorsedBy.#private.sign(text)) },
      }),
    }
  }

  async sign(http: Transport, operation: Operation, call: Call): Promise<object | null> {
    const unsigned = await this.#unsigned(http, operation, call)
    if (unsigned === null) return null
    const { ledger, issuer, agent, key } = await this.#identify(http)
    const nowMs = Date.now()
    const { kind, subjects, predicate, body } = unsigned
    const recordedAt = new Date(nowMs).toISOString()
    const payload = utf8Encode(
      buildStatement(kind, subjects, { ledger, actor: agent, key, recordedAt, ...predicate }),
    )
    const header = encodeProtected({
      alg: this.alg,
      kid: keyThumbprint(sha256, this.#private.key),
      issuer,
      subject: subjects[0]!.name,
      issuedAtSeconds: Math.floor(nowMs / 1000),
    })
    const signature = await this.#private.sign(toBeSigned(header, payload))
    return { ...body, envelope: toBase64(encodeEnvelope(header, payload, signature)) }
  }

  forget(http: Transport): void {
    this.#identities.delete(http)
  }

  async #unsigned(http: Transport, operation: Operation, call: Call): Promise<Unsigned | null> {
    const step = STEPS.get(operation)
    const isRecord = operation === operations.postRecords
    if (!step && !isRecord && operation !== operations.postRecordsBatch) return null
    const body = call.text === undefined ? call.body : (JSON.parse(call.text) as unknown)
    const traceparent = call.options?.traceparent
    if (step) {
      const id = (call.params as { readonly id: string }).id
      const { idempotencyKey: _, ifVersion, ...options } = call.options ?? {}
      const record = await http.json<api.LedgerRecord>(operations.getRecordsById, { params: { id }, options })
      // A hostile server could return another record, so that the agent signs a step of the wrong record. It could also
      // return another version, so the version that the caller expects is used.
      if (record.id !== id) throw wrongServer(`the server answered with another record than ${id}`)
      const asked = { ...record, version: ifVersion ?? record.version }
      return ofStep(step, asked, body as object, { traceparent })
    }
    if (!isRecord) return ofBatch(body as api.PostRecordsBatchBody, Date.now())
    const request = body as api.PostRecordsBody
    const facts = await this.#typeOf(http, request.type)
    // The caller has chosen whether the record is gated. Without this check, a hostile server could make the agent sign
    // the other kind of record.
    if (call.gated !== undefined && call.gated !== facts.gated)
      throw new UsageError(
        `${request.type} is ${facts.gated ? '' : 'not '}gated on this server: use records.${facts.gated ? 'create' : 'notarize'}`,
      )
    return ofRecord(request, facts, { nowMs: Date.now(), traceparent })
  }

  #identify(http: Transport): Promise<Identity> {
    const known = this.#identities.get(http)
    if (known) return known
    const read = http
      .json<api.GetLedgerAnswer>(operations.getLedger)
      .then(({ id, issuer, key }) => ({ ledger: id, issuer, agent: key.agent, key: key.id }))
    this.#identities.set(http, read)
    read.catch(() => this.#identities.delete(http))
    return read
  }

  #typeOf(http: Transport, type: string): Promise<TypeFacts> {
    const types = this.#types.get(http) ?? new Map<string, Promise<TypeFacts>>()
    this.#types.set(http, types)
    const known = types.get(type)
    if (known) return known
    const [name, version] = type.split('/')
    if (version === undefined) throw new UsageError(`a type must be name/version, not ${type}`)
    const read = http
      .json<api.GetTypesByNameByVersionAnswer>(operations.getTypesByNameByVersion, {
        params: { name: name!, version },
      })
      .then((found) => factsOf(type, found))
    types.set(type, read)
    read.catch(() => types.delete(type))
    return read
  }
}

/**
 * Returns the facts of a type. Throws UnexpectedAnswerError unless the digest matches the definition. The agent signs
 * only the digest, but the caller can read only the definition.
 */
function factsOf(type: string, { digest, definition }: api.GetTypesByNameByVersionAnswer): TypeFacts {
  const { name, version, evidenceSchema } = definition as Record<string, JsonValue>
  const isOwn =
    `${name}/${version}` === type &&
    toHex(sha256(utf8Encode(canonicalize(definition as JsonValue)))) === digest
  if (!isOwn) throw wrongServer(`the server answered with a definition that is not that of ${type}`)
  return { gated: evidenceSchema !== undefined, digest }
}
