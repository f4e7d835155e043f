"""An image that somebody else made, where the study names one: nothing of it is built here.

Needs: the image. Makes, in results/images/foreign-<digest of its name>: foreign.json and oci.json.
"""

from parity.software.foreign_image import foreign_files

if NEEDED.foreign:

    # The one place of the image's layout, whoever makes it.
    ruleorder: take_image > build_image

    rule take_image:
        """Take the image as it is, with a thin layer on top: marker, mount points, hosts file."""
        input:
            # Files that lie here; a store's image is named by its digest.
            image=foreign_files(NEEDED.foreign),
            hosts=own("containers/hosts"),
        output:
            foreign=f"{IMAGE}/{FOREIGN}.json",
            record=f"{IMAGE}/oci.json",
        log:
            f"{IMAGE}/logs/take_image.log",
        localrule: HERE
        conda:
            "../../envs/parity.yaml"
        params:
            image=NEEDED.foreign,
            folder=IMAGE_PLACE,
            # Another file in its place may be older than what was made of the first.
            seen=[
                f"{os.stat(path).st_size} {os.stat(path).st_mtime_ns}"
                for path in foreign_files(NEEDED.foreign)
                if os.path.exists(path)
            ],
        shell:
            "parity take-image --image {params.image:q} --hosts {input.hosts:q}"
            " --foreign {output.foreign:q} --record {output.record:q} --folder {params.folder:q}"
            " --log {log:q} 2>> {log:q}"
