// The few things that WebGL makes long.

/** Is there no graphics card, so that the processor draws? */
export function drawsInSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const named = gl?.getExtension("WEBGL_debug_renderer_info");
  const renderer = named ? gl.getParameter(named.UNMASKED_RENDERER_WEBGL) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(renderer);
}

export function program(gl, { vertex, fragment }) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const places = new Map();
  const place = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(made, name));
    return places.get(name);
  };
  /** Sets uniforms by name: a number, a list of two to four, or a matrix. */
  const set = (values) => {
    for (const [name, value] of Object.entries(values)) {
      const at = place(name);
      if (at === null) continue;
      if (typeof value === "number") gl.uniform1f(at, value);
      else if (value.length === 16) gl.uniformMatrix4fv(at, false, value);
      else gl[`uniform${value.length}fv`](at, value);
    }
  };
  return { use: () => gl.useProgram(made), set, texture: (name, unit) => gl.uniform1i(place(name), unit) };
}

/** A mesh on the card; `draw` binds and draws it. */
export function buffers(gl, { positions, normals, indices }) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  [positions, normals].forEach((numbers, place) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
  });
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(indices), gl.STATIC_DRAW);
  gl.bindVertexArray(null);
  return {
    draw() {
      gl.bindVertexArray(array);
      gl.drawElements(gl.TRIANGLES, indices.length, gl.UNSIGNED_INT, 0);
    },
  };
}

/**
 * Segments as rectangles; each end is x, y, z and how much it is seen. Corners are vertices rather than instances: a processor
 * that draws takes as long for an instance as for a mesh.
 */
export function segments(gl) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  const [corners, ends, indices] = [gl.createBuffer(), gl.createBuffer(), gl.createBuffer()];
  gl.bindBuffer(gl.ARRAY_BUFFER, corners);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
  gl.bindBuffer(gl.ARRAY_BUFFER, ends);
  for (const place of [1, 2]) {
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 4, gl.FLOAT, false, 32, 16 * (place - 1));
  }
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, indices);
  gl.bindVertexArray(null);
  let room = 0;
  const grow = (n) => {
    room = n;
    const each = (numbers) => Array.from({ length: n }, (_, i) => numbers(i)).flat();
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(each(() => [0, -1, 1, -1, 0, 1, 1, 1])), gl.STATIC_DRAW);
    const sides = each((i) => [0, 1, 2, 2, 1, 3].map((corner) => 4 * i + corner));
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(sides), gl.STATIC_DRAW);
  };
  return {
    /** `list` holds eight numbers for each segment. */
    draw(list) {
      const n = list.length / 8;
      if (!n) return;
      gl.bindVertexArray(array);
      if (n > room) grow(2 * n);
      const numbers = new Float32Array(4 * list.length);
      for (let i = 0; i < list.length; i++) {
        for (let corner = 0; corner < 4; corner++) numbers[8 * (4 * (i >> 3) + corner) + (i & 7)] = list[i];
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, ends);
      gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.DYNAMIC_DRAW);
      gl.drawElements(gl.TRIANGLES, 6 * n, gl.UNSIGNED_INT, 0);
    },
  };
}

/** A depth texture to draw into and to compare with. */
export function shadowMap(gl, size) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, size, size);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  const frame = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
  gl.drawBuffers([gl.NONE]);
  gl.readBuffer(gl.NONE);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  return { texture, frame, size };
}
