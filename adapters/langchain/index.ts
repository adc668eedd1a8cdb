export { TallystickCallbackHandler } from './callback-handler.ts'
export { type MiddlewareOptions, tallystickMiddleware } from './middleware.ts'
