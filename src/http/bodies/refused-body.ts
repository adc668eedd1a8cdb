import { ApiError } from '../../errors.ts'

/** A refusal as a plain value. An ApiError would lose its class when it is sent between threads. */
export type RefusedBody = { readonly refused: Pick<ApiError, 'code' | 'message' | 'members'> }

export function orRefused<Read>(read: () => Read): Read | RefusedBody {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { refused: { code: error.code, message: error.message, members: error.members } }
  }
}

/** Returns the body if it was read. Throws an ApiError if the body was refused. */
export function requireRead<Read extends object>(read: Read | RefusedBody): Read {
  if (!('refused' in read)) return read
  const { code, message, members } = (read as RefusedBody).refused
  throw new ApiError(code, message, { members })
}
