import { type AgentSigner, agentSigner } from '../sdk/signing/index.ts'
import { SourceError } from '../src/verify/source.ts'
import { readPrivate } from './read-private.ts'

/**
 * Returns the signer of a key file, made by `tallystick agents keygen` or by any other tool (PKCS #8 in PEM). Throws
 * SourceError if the file cannot be read, or if other users may read or write it.
 */
export async function openSigner(file: string): Promise<AgentSigner> {
  let pkcs8: string
  try {
    pkcs8 = await readPrivate(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new SourceError('io', `${file} cannot be read (${code})`)
  }
  return agentSigner({ pkcs8 })
}
