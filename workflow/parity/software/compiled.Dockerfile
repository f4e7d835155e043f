
# Added to the stage `system` of containers/Dockerfile where a study has programs whose C source
# is ours. It stands alone, since Docker without BuildKit goes through all stages before its own.
# The compiler stays in this stage.
FROM system AS compiler
ARG COMPILER
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ${COMPILER}
COPY sources /sources
ARG SOURCES
RUN cd /sources && sh compile.sh /compiled ${SOURCES}


FROM system AS compiled
ARG FOLDER
COPY --from=compiler /compiled ${FOLDER}
