export { TallystickTracingProcessor } from './tracing-processor.ts'
